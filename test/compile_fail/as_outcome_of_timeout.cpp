// expect: await it in a call, and the call as one, as_outcome(f(here))
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<bool> limited(coflux::environment&) {
    co_return co_await coflux::timeout(coflux::yield(), std::chrono::seconds(1));
}

coflux::task<bool, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    const auto o = co_await coflux::as_outcome(limited(here));
#else
    const auto o = co_await coflux::as_outcome(coflux::timeout(coflux::yield(), std::chrono::seconds(1)));
#endif
    co_return o.has_value();
}
