// expect: a timed_fold() has no table of a database
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
    const auto add = [](int& sum, const int& n, coflux::stream::key_timer&, const auto&) { sum += n; };
    const auto give = [](int& sum, coflux::stream::key_timer&, const auto& emit) { emit(sum); };
    auto flow = coflux::stream::from(numbers) | coflux::stream::by_key([](int n) { return n; }) |
#ifdef COFLUX_GOOD
                coflux::stream::timed_fold<int, int>(add, give) |
#else
                coflux::stream::timed_fold<int, int>(add, give, state.table("timers")) |
#endif
                coflux::stream::to(nothing);
    co_await coflux::stream::run(here, std::move(flow), coflux::stream::job{.state = state});
}
