// expect: this handle can be awaited once
#include <coflux/coflux.hpp>

coflux::call<int> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto [x, y] = co_await coflux::when_all(one(here), one(here));
#else
    auto c = one(here);
    auto [x, y] = co_await coflux::when_all(c, one(here));
#endif
    co_return x + y;
}
