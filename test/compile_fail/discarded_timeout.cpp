// expect-warning: nothing is limited until it is awaited: co_await it
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    (void)co_await coflux::timeout(coflux::yield(), std::chrono::seconds(1));
#else
    coflux::timeout(coflux::yield(), std::chrono::seconds(1));
    co_return;
#endif
}
