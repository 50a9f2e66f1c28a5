// expect: coflux: an operation that loses would leave the guard without its lock
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::mutex& m, coflux::condition_variable& changed,
                         coflux::channel<int[4]>& quit) {
    auto guard = co_await m.lock();
#ifdef COFLUX_GOOD
    (void)co_await changed.wait_for(guard, std::chrono::seconds(1));
    (void)quit;
#else
    (void)co_await coflux::select(changed.wait(guard), quit.receive());
#endif
}
