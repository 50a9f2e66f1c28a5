// expect: ask outcome.has_value(), and then *outcome
#include <coflux/coflux.hpp>

coflux::call<int> sends(coflux::environment&, coflux::channel<int[1]>& numbers) {
#ifdef COFLUX_GOOD
    const auto sent = co_await coflux::as_outcome(numbers.send(1));
    if (!sent.has_value()) co_return 2;
    co_return *sent ? 0 : 1;
#else
    if (co_await coflux::as_outcome(numbers.send(1))) co_return 0;
    co_return 1;
#endif
}
