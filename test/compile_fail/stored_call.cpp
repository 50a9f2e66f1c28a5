// expect: deleted
// expect: coflux::call<
#include <utility>

#include <coflux/coflux.hpp>

coflux::call<int> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_return co_await one(here);
#else
    auto kept = one(here);
    auto moved = std::move(kept);
    co_return 0;
#endif
}
