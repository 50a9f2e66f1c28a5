// expect: coflux: a deadline is a moment, not a duration
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto sub = coflux::make_environment(here, coflux::clock::now() + std::chrono::seconds(5));
#else
    auto sub = coflux::make_environment(here, std::chrono::seconds(5));
#endif
    co_await sub.join();
}
