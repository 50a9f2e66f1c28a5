// expect: this handle can be awaited once: write co_await std::move(handle), or take handle.view() for several readers
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto f = one(here);
#ifdef COFLUX_GOOD
    co_return co_await std::move(f);
#else
    const int first = co_await f;
    co_return first + co_await f;
#endif
}
