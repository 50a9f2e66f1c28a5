// expect: coflux: when_all is compiled for one policy: write when_all(coflux::stop_on_error, …)
#include <utility>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, coflux::fork<int> a, coflux::fork<int> b) {
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_all(coflux::stop_on_error, std::move(a), std::move(b));
#else
    (void)co_await coflux::when_all(coflux::error_policy::stop_on_error, std::move(a), std::move(b));
#endif
}
