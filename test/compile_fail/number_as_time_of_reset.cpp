// expect: coflux: a number has no unit: write reset(30s), or reset(5ms)
#include <chrono>

#include <coflux/coflux.hpp>

bool moves(coflux::timer& idle) {
#ifdef COFLUX_GOOD
    return idle.reset(std::chrono::seconds(30));
#else
    return idle.reset(30);
#endif
}
