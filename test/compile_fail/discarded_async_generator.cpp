// expect-warning: never begins
#include <coflux/coflux.hpp>

coflux::async_generator<int> numbers(coflux::environment&) {
    co_yield 1;
}

coflux::call<int> first(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto all = numbers(here);
    co_return *co_await all.next();
#else
    numbers(here);
    co_return 0;
#endif
}
