// expect-warning: the mutex is not locked until this is awaited
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::mutex m;
#ifdef COFLUX_GOOD
    const auto guard = co_await m.lock();
#else
    m.lock();
    co_return;
#endif
}
