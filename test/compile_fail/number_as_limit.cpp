// expect: coflux: a number has no unit: write timeout(x, 5ms)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> limits(coflux::environment&) {
#ifdef COFLUX_GOOD
    (void)co_await coflux::timeout(coflux::yield(), std::chrono::milliseconds(5));
#else
    (void)co_await coflux::timeout(coflux::yield(), 5);
#endif
}
