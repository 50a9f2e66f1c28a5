// expect-warning: nothing is sent until then
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto [tx, rx] = coflux::make_mpsc<int>(1);
#ifdef COFLUX_GOOD
    (void)co_await tx.send(1);
#else
    tx.send(1);
    co_return;
#endif
}
