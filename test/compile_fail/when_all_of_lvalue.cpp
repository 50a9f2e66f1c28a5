// expect: this handle can be awaited once: hand it over with std::move(handle)
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = one(here);
    auto b = one(here);
#ifdef COFLUX_GOOD
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
#else
    auto [x, y] = co_await coflux::when_all(a, std::move(b));
#endif
    co_return x + y;
}
