// expect-warning: co_await it
#include <coflux/coflux.hpp>

coflux::fork<void, coflux::noop_executor> work(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    (void)co_await coflux::as_outcome(work(here));
#else
    coflux::as_outcome(work(here));
#endif
}
