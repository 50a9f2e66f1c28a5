// expect: ask result.timed_out(), and then *result
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<int> sends(coflux::environment&, coflux::channel<int[1]>& numbers) {
#ifdef COFLUX_GOOD
    const auto sent = co_await coflux::timeout(numbers.send(1), std::chrono::seconds(1));
    if (sent.timed_out()) co_return 2;
    co_return *sent ? 0 : 1;
#else
    if (co_await coflux::timeout(numbers.send(1), std::chrono::seconds(1))) co_return 0;
    co_return 1;
#endif
}
