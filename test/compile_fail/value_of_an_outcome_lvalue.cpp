// expect: coflux: value() takes the value out of its outcome: std::move(o).value()
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto o = co_await coflux::as_outcome(one(here));
#ifdef COFLUX_GOOD
    co_return std::move(o).value();
#else
    co_return o.value();
#endif
}
