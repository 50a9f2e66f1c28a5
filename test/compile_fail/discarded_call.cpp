// expect-warning: a call that is not awaited never begins: co_await it
#include <coflux/coflux.hpp>

coflux::call<void> work(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_await work(here);
#else
    work(here);
#endif
}
