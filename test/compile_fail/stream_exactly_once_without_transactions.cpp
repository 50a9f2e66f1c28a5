// expect: exactly_once needs a sink with transactions: begin(), commit(positions), abort() and committed()
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::for_each sink([](int) {});
    coflux::stream::memory_sink<int> kept;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(kept),
                                 coflux::stream::job{.delivery = coflux::stream::exactly_once});
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(sink),
                                 coflux::stream::job{.delivery = coflux::stream::exactly_once});
#endif
    (void)kept;
    (void)sink;
}
