// expect: a fold() keeps its states in a table, which is written with the job's checkpoints
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> kept;
    coflux::rocksdb::database state("/state", "job");
    const auto add = [](int& sum, int n, const auto& emit) { emit(sum += n); };
    auto flow = coflux::stream::from(numbers) | coflux::stream::to_one() |
                coflux::stream::fold<int, int>(add, state.table("sums")) | coflux::stream::to(kept);
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, std::move(flow), coflux::stream::job{.state = state});
#else
    co_await coflux::stream::run(here, std::move(flow), coflux::stream::job{});
#endif
}
