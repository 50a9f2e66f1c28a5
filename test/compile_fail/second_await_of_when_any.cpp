// expect: An operation is written in its await, co_await when_any(a(here), b(here)): it refers to its operands
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<int> f(coflux::environment&) {
    co_return 1;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_any(f(here), f(here));
#else
    auto&& first = coflux::when_any(f(here), f(here));
    (void)co_await first;
#endif
}
