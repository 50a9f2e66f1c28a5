// expect-warning: nothing happens at the channel until this is awaited
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::channel<int[1]> ch;
#ifdef COFLUX_GOOD
    (void)co_await ch.send(1);
#else
    ch.send(1);
    co_return;
#endif
}
