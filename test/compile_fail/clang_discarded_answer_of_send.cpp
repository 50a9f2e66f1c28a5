// expect-warning: it may be closed, or a value has come: use the result
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::channel<int[1]> ch;
#ifdef COFLUX_GOOD
    if (!co_await ch.send(1)) co_return;
#else
    co_await ch.send(1);
#endif
}
