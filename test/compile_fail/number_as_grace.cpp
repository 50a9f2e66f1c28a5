// expect: coflux: a number has no unit: write terminate(here, 5s)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<bool> ends(coflux::environment& here, coflux::process& child) {
#ifdef COFLUX_GOOD
    co_return (co_await child.terminate(here, std::chrono::seconds(5))).is_success();
#else
    co_return (co_await child.terminate(here, 5)).is_success();
#endif
}
