// expect: coflux: the range comes first, then the number: write when_n(std::move(range), n)
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

coflux::call<void> waits(coflux::environment&, std::vector<coflux::fork<int>> replicas) {
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_n(std::move(replicas), 2);
#else
    (void)co_await coflux::when_n(2, std::move(replicas));
#endif
}
