// expect: this handle can be awaited once
#include <coflux/coflux.hpp>

coflux::call<int> one(coflux::environment&) {
    co_return 1;
}

coflux::task<bool, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    const auto o = co_await coflux::as_outcome(one(here));
#else
    auto c = one(here);
    const auto o = co_await coflux::as_outcome(c);
#endif
    co_return o.has_value();
}
