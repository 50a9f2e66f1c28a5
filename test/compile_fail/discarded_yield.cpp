// expect-warning: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    co_await coflux::yield();
#else
    coflux::yield();
    co_return;
#endif
}
