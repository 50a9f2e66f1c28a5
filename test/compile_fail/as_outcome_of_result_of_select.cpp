// expect: await it in a call, and the call as one, as_outcome(f(here))
#include <coflux/coflux.hpp>

coflux::call<std::size_t> chosen(coflux::environment&) {
    co_return (co_await coflux::select(coflux::yield())).index();
}

coflux::task<bool, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    const auto o = co_await coflux::as_outcome(coflux::as_result(chosen(here)));
#else
    const auto o = co_await coflux::as_outcome(coflux::as_result(coflux::select(coflux::yield())));
#endif
    co_return o.has_value();
}
