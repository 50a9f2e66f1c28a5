// expect: ask outcome.has_value(), and then *outcome
#include <coflux/coflux.hpp>

coflux::call<int> receives(coflux::environment&, coflux::channel<int[1]>& numbers) {
    const auto received = co_await coflux::as_outcome(numbers.receive());
#ifdef COFLUX_GOOD
    if (received.has_value() && *received) co_return **received;
#else
    if (received) co_return **received;
#endif
    co_return 0;
}
