// expect: coflux: make_fork copies its arguments, and an environment cannot be copied
#include <coflux/coflux.hpp>

int plain(coflux::environment&) {
    return 1;
}

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_return co_await one(here);
#else
    auto f = coflux::make_fork(here, plain, here);
    co_return 0;
#endif
}
