// expect-warning: nothing is acquired until this is awaited: co_await it
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::rate_limiter limit(1, std::chrono::seconds(1), 1);
#ifdef COFLUX_GOOD
    co_await limit.acquire();
#else
    limit.acquire();
    co_return;
#endif
}
