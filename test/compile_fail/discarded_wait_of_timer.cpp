// expect-warning: nothing waits until it is awaited: co_await it
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::timer t(std::chrono::seconds(1));
#ifdef COFLUX_GOOD
    (void)co_await t.wait();
#else
    t.wait();
    co_return;
#endif
}
