// expect: coflux: an operation that loses would leave the guard without its lock
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& changed) {
    auto guard = co_await m.lock();
#ifdef COFLUX_GOOD
    (void)co_await changed.wait_for(guard, std::chrono::seconds(1));
#else
    (void)co_await coflux::when_any(changed.wait(guard), coflux::sleep_for(std::chrono::seconds(1)));
#endif
}
