// expect: hand the range over with std::move(range)
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    std::vector<coflux::fork<int, coflux::noop_executor>> forks;
#ifdef COFLUX_GOOD
    (void)co_await coflux::select(std::move(forks));
#else
    (void)co_await coflux::select(forks);
#endif
}
