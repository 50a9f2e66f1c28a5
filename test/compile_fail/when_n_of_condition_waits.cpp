// expect: coflux: an operation that loses would leave the guard without its lock
#include <array>
#include <utility>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& a,
                         coflux::condition_variable& b) {
    auto guard = co_await m.lock();
#ifdef COFLUX_GOOD
    co_await a.wait(guard);
    (void)b;
#else
    std::array both{a.wait(guard), b.wait(guard)};
    (void)co_await coflux::when_n(std::move(both), 1);
#endif
}
