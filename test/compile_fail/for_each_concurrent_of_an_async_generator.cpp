// expect: coflux: an async_generator is no range, because its elements are awaited
#include <coflux/coflux.hpp>

coflux::async_generator<int> numbers(coflux::environment&) {
    co_yield 1;
}
coflux::fork<void> use(coflux::environment&, int) {
    co_return;
}

coflux::task<void> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto all = numbers(here);
#ifdef COFLUX_GOOD
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        while (auto* x = co_await all.next()) scope.spawn(use, *x);
    });
#else
    co_await coflux::for_each_concurrent(all, 4, use);
#endif
}
