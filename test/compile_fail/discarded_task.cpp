// expect-warning: a task that is not kept is waited for at the end of this statement: keep the handle
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> work(coflux::environment&) {
    co_return;
}

void start(coflux::environment& env) {
#ifdef COFLUX_GOOD
    auto t = work(env);
    t.join();
#else
    work(env);
#endif
}
