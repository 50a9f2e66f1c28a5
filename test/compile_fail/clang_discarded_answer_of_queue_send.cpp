// expect-warning: it may be closed, and nothing was sent: use the result
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto [to, from] = coflux::make_spsc<int>(1);
#ifdef COFLUX_GOOD
    if (!co_await to.send(1)) co_return;
#else
    co_await to.send(1);
#endif
}
