// A fold over a million keys, in memory and in a table of a database: what a record costs once all keys are there.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

namespace {

namespace stream = coflux::stream;
namespace rocksdb = coflux::rocksdb;
using pool = coflux::thread_pool_executor;

constexpr std::int64_t keys = 1'000'000;
constexpr std::int64_t records = 2'000'000;

double seconds_of(clockid_t which) {
    timespec now{};
    clock_gettime(which, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Each key once, and then records of random keys, which are timed until the last one is read.
struct random_keys {
    using value_type = std::uint64_t;
    std::mt19937_64 random{1};
    std::int64_t next = 0;
    double wall = 0;
    double cpu = 0;

    coflux::call<bool> read(coflux::environment&, stream::batch<std::uint64_t>& into, std::size_t most) {
        if (next == keys || next == keys + records) {
            wall = seconds_of(CLOCK_MONOTONIC) - wall;
            cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        }
        if (next == keys + records) co_return false;
        for (std::size_t i = 0; i != most; ++i) {
            const auto n = static_cast<std::uint64_t>(next++);
            into.push_back({n < keys ? n : random() % keys, {}, next});
            if (next == keys || next == keys + records) break;
        }
        co_return true;
    }
    coflux::call<void> seek(coflux::environment&, const stream::positions&) { co_return; }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

constexpr auto count = [](std::uint64_t& n, std::uint64_t, const auto&) { ++n; };

template <typename Fold, typename Store>
coflux::task<void, pool> job(coflux::environment&, coflux::borrowed<random_keys> source, Fold fold,
                             std::chrono::seconds commit_every, Store state) {
    auto& here = co_await coflux::context();
    const auto same = [](std::uint64_t key) { return key; };
    (void)co_await stream::run(here,
                               stream::from(*source) | stream::by_key(same) | std::move(fold) |
                                   stream::to(stream::for_each([](std::uint64_t) {})),
                               stream::job<stream::at_least_once_t, stream::fail_job, Store>{
                                   .workers = 1, .commit_every = commit_every, .state = std::move(state)});
}
template <typename Fold, typename Store>
void time(benchmark::State& state, std::chrono::seconds commit_every, Fold fold, Store store) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    random_keys source;
    job(env, coflux::borrowed(source), std::move(fold), commit_every, std::move(store)).get();
    state.SetIterationTime(source.wall);
    state.counters["cpu_ns"] = source.cpu * 1e9 / records;
}

/// Removed at its end.
struct folder {
    std::string path = (std::filesystem::temp_directory_path() / "coflux_rocksdb_bench").string();
    folder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directory(path);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path); }
};

void rocksdb_fold_in_memory(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        const folder at;
        time(state, std::chrono::seconds(state.range(0)), stream::fold<std::uint64_t, std::uint64_t>(count),
             stream::folder_store(at.path, "job"));
    }
}
BENCHMARK(rocksdb_fold_in_memory)->ArgName("commit_s")->Arg(1)->Arg(3600)->Iterations(1)->UseManualTime();

void rocksdb_fold_in_table(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        const folder at;
        const rocksdb::database files(at.path, "job", {.cached_keys = static_cast<std::size_t>(state.range(0))});
        time(state, std::chrono::seconds(state.range(1)),
             stream::fold<std::uint64_t, std::uint64_t>(count, files.table("counts")), files);
    }
}
BENCHMARK(rocksdb_fold_in_table)
    ->ArgNames({"cached", "commit_s"})
    ->ArgsProduct({{2'000'000, 100'000}, {1, 3600}})
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
