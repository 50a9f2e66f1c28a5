// expect-warning: nothing is accepted until this is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_listener listener;
#ifdef COFLUX_GOOD
    (void)co_await listener.accept();
#else
    listener.accept();
    co_return;
#endif
}
