// expect: coflux: `result == std::nullopt` or `result != false` would not tell a time that was up from the value
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<bool> asks(coflux::environment&, coflux::channel<int[4]>& c) {
    const auto result = co_await coflux::timeout(c.send(1), std::chrono::seconds(1));
#ifdef COFLUX_GOOD
    co_return !result.timed_out() && *result;
#else
    co_return result != false;
#endif
}
