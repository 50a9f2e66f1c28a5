// expect: coflux: make_fork(here, f, args...) calls f with copies of args, moved, and f cannot be called with these
#include <utility>

#include <coflux/coflux.hpp>

int plain(int x) {
    return x;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto f = coflux::make_fork(here, plain, 1);
#else
    auto f = coflux::make_fork(here, plain, "one");
#endif
    co_return co_await std::move(f);
}
