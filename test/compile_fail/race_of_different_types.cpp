// expect: all of these must give the same type; when_any tells different ones apart
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}
coflux::fork<double, coflux::noop_executor> two(coflux::environment&) {
    co_return 2;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_any(one(here), two(here));
#else
    (void)co_await coflux::race(one(here), two(here));
#endif
}
