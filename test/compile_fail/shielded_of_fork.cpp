// expect: a fork or task is a child of the coroutine that made it, and runs already: shield a call that makes and awaits it
#include <coflux/coflux.hpp>

coflux::fork<int> forks(coflux::environment&) {
    co_return 1;
}
coflux::call<int> calls(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await forks(here);
}

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_return co_await coflux::shielded(calls(here));
#else
    co_return co_await coflux::shielded(forks(here));
#endif
}
