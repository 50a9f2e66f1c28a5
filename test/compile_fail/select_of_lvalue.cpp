// expect: can be awaited once
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::channel<int[1]> ch;
    auto a = one(here);
#ifdef COFLUX_GOOD
    (void)co_await coflux::select(std::move(a), ch.receive());
#else
    (void)co_await coflux::select(a, ch.receive());
#endif
}
