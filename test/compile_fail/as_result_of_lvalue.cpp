// expect: this handle can be awaited once: write as_result(std::move(handle))
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<bool, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto f = one(here);
#ifdef COFLUX_GOOD
    const auto r = co_await coflux::as_result(std::move(f));
#else
    const auto r = co_await coflux::as_result(f);
#endif
    co_return r.has_value();
}
