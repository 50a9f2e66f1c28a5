// expect-warning: an error among the outcomes is lost: look at them
#include <coflux/coflux.hpp>

coflux::call<void> f() {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    auto [a, b] = co_await coflux::when_all_outcomes(f(), f());
    if (a.has_error() || b.has_error()) co_return;
#else
    co_await coflux::when_all_outcomes(f(), f());
#endif
}
