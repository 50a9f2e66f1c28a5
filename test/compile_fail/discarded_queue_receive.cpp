// expect-warning: nothing is received until then
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto [tx, rx] = coflux::make_unbounded_mpsc<int>();
    (void)tx.send(1);
#ifdef COFLUX_GOOD
    (void)co_await rx.receive();
#else
    rx.receive();
    co_return;
#endif
}
