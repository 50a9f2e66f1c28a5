// expect: what a stop abandons runs on when the coroutine is gone, so it must not have captures: pass what it needs as arguments, which are copied
#include <coflux/coflux.hpp>

coflux::task<int, coflux::noop_executor> root(coflux::environment&, int x) {
#ifdef COFLUX_GOOD
    co_return co_await coflux::blocking(coflux::abandon_on_stop, [](int value) { return 2 * value; }, x);
#else
    co_return co_await coflux::blocking(coflux::abandon_on_stop, [&x] { return 2 * x; });
#endif
}
