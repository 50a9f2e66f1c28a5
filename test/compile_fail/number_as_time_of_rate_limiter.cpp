// expect: coflux: a number has no unit: write rate_limiter(100, 1s, 10)
#include <chrono>

#include <coflux/coflux.hpp>

bool limits() {
#ifdef COFLUX_GOOD
    coflux::rate_limiter limit(100, std::chrono::seconds(1), 10);
#else
    coflux::rate_limiter limit(100, 1, 10);
#endif
    return limit.try_acquire();
}
