// expect: coflux: an operation that loses would leave the guard without its lock
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& a,
                         coflux::condition_variable& b) {
    auto guard = co_await m.lock();
#ifdef COFLUX_GOOD
    co_await a.wait(guard);
    (void)b;
#else
    (void)co_await coflux::race(a.wait_for(guard, std::chrono::seconds(1)), b.wait_for(guard, std::chrono::seconds(1)));
#endif
}
