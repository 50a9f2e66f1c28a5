// expect: coflux: this is what is to be awaited, and not its result
#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto [a, b] = co_await coflux::when_all(one(here), one(here));
#else
    auto [a, b] = coflux::when_all(one(here), one(here));
#endif
    co_return a + b;
}
