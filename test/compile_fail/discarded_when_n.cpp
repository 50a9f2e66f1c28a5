// expect-warning: when_n does nothing until it is awaited: co_await it
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

coflux::fork<void, coflux::noop_executor> work(coflux::environment&) {
    co_return;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, coflux::noop_executor>> forks;
    forks.push_back(work(here));
#ifdef COFLUX_GOOD
    (void)co_await coflux::when_n(std::move(forks), 1);
#else
    coflux::when_n(std::move(forks), 1);
#endif
}
