// expect: coflux: a limit would leave the guard without its lock
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& changed) {
    auto guard = co_await m.lock();
    const auto second = std::chrono::seconds(1);
#ifdef COFLUX_GOOD
    (void)co_await changed.wait_for(guard, second);
#else
    (void)co_await coflux::timeout(coflux::when_all(changed.wait(guard), coflux::sleep_for(second)), second);
#endif
}
