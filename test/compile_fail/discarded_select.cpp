// expect-warning: select does nothing until it is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::channel<int[1]> ch;
#ifdef COFLUX_GOOD
    (void)co_await coflux::select(ch.receive(), coflux::otherwise);
#else
    coflux::select(ch.receive(), coflux::otherwise);
    co_return;
#endif
}
