// expect-warning: nothing is received until this is awaited: co_await it
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::delay_queue<int> q;
#ifdef COFLUX_GOOD
    (void)co_await q.pop();
#else
    q.pop();
    co_return;
#endif
}
