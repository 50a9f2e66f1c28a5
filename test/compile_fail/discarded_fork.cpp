// expect-warning: a fork that is not kept cannot be awaited: keep the handle, co_await it, or say .attach() to leave it to the scope
#include <coflux/coflux.hpp>

coflux::fork<void, coflux::noop_executor> work(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    work(here).attach();
#else
    work(here);
#endif
}
