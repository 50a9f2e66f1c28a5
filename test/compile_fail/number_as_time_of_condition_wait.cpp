// expect: coflux: a number has no unit: write wait_for(guard, 5ms), or 5s
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<bool> waits(coflux::environment&, coflux::condition_variable& changed, coflux::mutex::guard& guard) {
#ifdef COFLUX_GOOD
    co_return bool(co_await changed.wait_for(guard, std::chrono::milliseconds(5)));
#else
    co_return bool(co_await changed.wait_for(guard, 5));
#endif
}
