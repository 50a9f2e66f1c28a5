// expect-warning: nothing sleeps until it is awaited: co_await it
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    co_await coflux::sleep_for(std::chrono::seconds(1));
#else
    coflux::sleep_for(std::chrono::seconds(1));
    co_return;
#endif
}
