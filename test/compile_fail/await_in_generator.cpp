// expect: coflux: a generator is synchronous: it cannot co_await
#include <coflux/coflux.hpp>

coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
    co_return 1;
}

coflux::generator<int> elements(coflux::environment& env) {
#ifdef COFLUX_GOOD
    co_yield 1;
#else
    co_yield co_await one(env);
#endif
}
