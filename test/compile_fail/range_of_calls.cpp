// expect: a range of calls cannot be given: a call is awaited where it is made
#include <ranges>

#include <coflux/coflux.hpp>

coflux::call<int> called(coflux::environment&, int i) {
    co_return i;
}
coflux::fork<int, coflux::noop_executor> forked(coflux::environment&, int i) {
    co_return i;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_await coflux::when_all(std::views::iota(0, 5) | std::views::transform([&](int i) { return forked(here, i); }));
#else
    co_await coflux::when_all(std::views::iota(0, 5) | std::views::transform([&](int i) { return called(here, i); }));
#endif
}
