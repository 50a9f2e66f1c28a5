// expect-warning: the function is not called until this is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    co_await coflux::blocking([] {});
#else
    coflux::blocking([] {});
    co_return;
#endif
}
