// expect: a fold() in a table is behind a window() or a timed_fold()
#include <chrono>
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
    const auto add = [](int& sum, const auto&, const auto& emit) { emit(++sum); };
    auto flow = coflux::stream::from(numbers) | coflux::stream::by_key([](int n) { return n; }) |
                coflux::stream::window(coflux::stream::tumbling(std::chrono::seconds(1)), coflux::stream::count()) |
#ifdef COFLUX_GOOD
                coflux::stream::by_key([](const auto& w) { return w.key; }) |
#endif
                coflux::stream::fold<int, int>(add, state.table("sums")) | coflux::stream::to(kept);
    co_await coflux::stream::run(here, std::move(flow), coflux::stream::job{.state = state});
}
