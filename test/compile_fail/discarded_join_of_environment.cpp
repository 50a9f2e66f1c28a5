// expect-warning: what is made in an environment must end before it: co_await join()
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
#ifdef COFLUX_GOOD
    co_await sub.join();
#else
    sub.join();
#endif
}
