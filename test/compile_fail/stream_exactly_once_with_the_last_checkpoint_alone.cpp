// expect: exactly_once needs a store that keeps the checkpoint before the last one, too
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> kept;
    coflux::rocksdb::database state("/state", "job");
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(kept),
                                 coflux::stream::job{.delivery = coflux::stream::at_least_once, .state = state});
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(kept),
                                 coflux::stream::job{.delivery = coflux::stream::exactly_once, .state = state});
#endif
}
