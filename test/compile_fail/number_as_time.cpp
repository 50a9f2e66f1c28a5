// expect: coflux: a number has no unit: write sleep_for(5ms)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> naps(coflux::environment&) {
#ifdef COFLUX_GOOD
    co_await coflux::sleep_for(std::chrono::milliseconds(5));
#else
    co_await coflux::sleep_for(5);
#endif
}
