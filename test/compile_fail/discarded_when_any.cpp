// expect-warning: when_any does nothing until it is awaited: co_await it
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<void, coflux::noop_executor> work(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = work(here);
    auto b = work(here);
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_any(std::move(a), std::move(b));
#else
    coflux::when_any(std::move(a), std::move(b));
#endif
}
