// expect: write scope.spawn(f, args...) in place of scope.spawn(f(scope, args...))
#include <coflux/coflux.hpp>

coflux::fork<void, coflux::noop_executor> forked(coflux::environment&, int) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
#ifdef COFLUX_GOOD
    scope.spawn(forked, 1);
#else
    scope.spawn(forked(scope, 1));
#endif
    co_await scope.join();
}
