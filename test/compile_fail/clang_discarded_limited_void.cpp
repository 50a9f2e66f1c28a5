// expect-warning: the limit may have cut the operation off: look at timed_out()
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::semaphore permits(1);
#ifdef COFLUX_GOOD
    if ((co_await coflux::timeout(permits.acquire(), std::chrono::seconds(1))).timed_out()) co_return;
#else
    co_await coflux::timeout(permits.acquire(), std::chrono::seconds(1));
#endif
}
