// expect: a deadline belongs to a derived environment: make_environment(here, deadline)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::chrono::steady_clock::time_point deadline{};
#ifdef COFLUX_GOOD
    auto sub = coflux::make_environment(here, deadline);
    co_await sub.join();
#else
    auto sub = coflux::make_environment(deadline);
    co_await sub.join();
#endif
}
