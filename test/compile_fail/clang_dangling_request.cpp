// expect: temporary whose address is used as value of local variable 'limited'
#include <coflux/coflux.hpp>

#pragma GCC diagnostic error "-Wdangling"

coflux::fork<int, coflux::noop_executor> gives(coflux::environment&) {
    co_return 1;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto child = gives(here);
    auto limited = coflux::timeout(std::move(child), std::chrono::seconds(1));
#else
    auto limited = coflux::timeout(gives(here), std::chrono::seconds(1));
#endif
    (void)co_await std::move(limited);
}
