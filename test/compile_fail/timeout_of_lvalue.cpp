// expect: this handle can be awaited once: write timeout(std::move(handle), d)
#include <chrono>
#include <utility>

#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = one(here);
#ifdef COFLUX_GOOD
    const auto x = co_await coflux::timeout(std::move(a), std::chrono::seconds(1));
#else
    const auto x = co_await coflux::timeout(a, std::chrono::seconds(1));
#endif
    co_return x.value_or(0);
}
