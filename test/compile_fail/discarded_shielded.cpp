// expect-warning: shielded does nothing until it is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    (void)co_await coflux::shielded(coflux::yield());
#else
    coflux::shielded(coflux::yield());
    co_return;
#endif
}
