// expect: coflux: a limit would leave the guard without its lock: write changed.wait_for(guard, d)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& changed) {
    auto guard = co_await m.lock();
#ifdef COFLUX_GOOD
    (void)co_await changed.wait_for(guard, std::chrono::seconds(1));
#else
    (void)co_await coflux::timeout(changed.wait(guard), std::chrono::seconds(1));
#endif
}
