// expect: coflux: a number has no unit: write timer(30s), or timer(5ms)
#include <chrono>

#include <coflux/coflux.hpp>

bool waits() {
#ifdef COFLUX_GOOD
    const coflux::timer idle(std::chrono::seconds(30));
#else
    const coflux::timer idle(30);
#endif
    return idle.pending();
}
