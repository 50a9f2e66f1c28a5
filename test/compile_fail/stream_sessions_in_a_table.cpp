// expect: a window() in a table of a database is tumbling() or sliding()
#include <chrono>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::for_each nothing([](const auto&) {});
    coflux::rocksdb::database state("/state", "job");
    auto flow = coflux::stream::from(numbers) | coflux::stream::by_key([](int n) { return n; }) |
#ifdef COFLUX_GOOD
                coflux::stream::window(coflux::stream::session(std::chrono::seconds(1)), coflux::stream::count()) |
#else
                coflux::stream::window(coflux::stream::session(std::chrono::seconds(1)), coflux::stream::count(),
                                       state.table("sessions")) |
#endif
                coflux::stream::to(nothing);
    co_await coflux::stream::run(here, std::move(flow), coflux::stream::job{.state = state});
}
