// expect: reserve
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    coflux::channel<int[1]> ch;
#else
    coflux::channel<int[]> ch;
#endif
    (void)co_await ch.reserve();
}
