// expect: ask outcome.has_value(), and then *outcome
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<bool> asks(coflux::environment&) {
    const auto second = std::chrono::seconds(1);
    const auto outcome = co_await coflux::as_outcome(coflux::timeout(coflux::sleep_for(second), second));
#ifdef COFLUX_GOOD
    if (outcome.has_value() && !(*outcome).timed_out()) co_return true;
#else
    if (outcome) co_return true;
#endif
    co_return false;
}
