// expect: ask result.timed_out(), and then *result
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<int> receives(coflux::environment&, coflux::channel<int[1]>& numbers) {
    const auto got = co_await coflux::timeout(numbers.receive(), std::chrono::seconds(1));
#ifdef COFLUX_GOOD
    if (!got.timed_out() && *got) co_return **got;
#else
    if (got) co_return **got;
#endif
    co_return 0;
}
