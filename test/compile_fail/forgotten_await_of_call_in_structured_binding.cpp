// expect: coflux: this is what is to be awaited, and not its result
#include <utility>

#include <coflux/coflux.hpp>

coflux::call<std::pair<int, int>> two(coflux::environment&) {
    co_return {1, 2};
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto [a, b] = co_await two(here);
#else
    auto [a, b] = two(here);
#endif
    co_return a + b;
}
