// expect-warning: a fork that is not kept cannot be awaited
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    coflux::make_fork(here, [] { return 1; }).attach();
#else
    coflux::make_fork(here, [] { return 1; });
#endif
}
