// expect: coflux: `result == std::nullopt` or `result != false` would not tell a time that was up from the value
#include <chrono>
#include <optional>

#include <coflux/coflux.hpp>

coflux::call<bool> asks(coflux::environment&, coflux::channel<int[4]>& c) {
    const auto result = co_await coflux::timeout(c.receive(), std::chrono::seconds(1));
#ifdef COFLUX_GOOD
    co_return result.timed_out() || *result == std::nullopt;
#else
    co_return result == std::nullopt;
#endif
}
