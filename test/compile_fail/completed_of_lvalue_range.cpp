// expect: hand the range over with std::move(range)
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<int, coflux::noop_executor>> forks;
#ifdef COFLUX_GOOD
    auto done = coflux::completed(here, std::move(forks));
#else
    auto done = coflux::completed(here, forks);
#endif
    (void)co_await done.next();
}
