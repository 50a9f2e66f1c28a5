// expect: coflux: an environment cannot be copied: bind a reference to it
#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    auto&& here = co_await coflux::context();
#else
    auto here = co_await coflux::context();
#endif
    co_return co_await one(here);
}
