// expect: what a task_scope spawns is a fork or a task; a call is awaited where it is made
#include <coflux/coflux.hpp>

coflux::call<void> called(coflux::environment&) {
    co_return;
}
coflux::fork<void, coflux::noop_executor> forked(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
#ifdef COFLUX_GOOD
    scope.spawn(forked);
#else
    scope.spawn(called);
#endif
    co_await scope.join();
}
