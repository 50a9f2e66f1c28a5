// Coroutines that wait between two calculations, and what excludes them: their executor, or a lock.
// Idioms: docs/tour/01-first-program.md, docs/tour/00-if-you-know.md
#include "cachecalc.hpp"

#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;
using strand = coflux::strand<pool>;

// Excluded by an executor that runs one coroutine at a time: a worker or a strand.
struct pinned_cache {
    harness::cache values{};
};

template <typename Executor>
coflux::fork<void, Executor> calc_wait_calc(auto&&, coflux::borrowed<pinned_cache> cache,
                                            std::chrono::microseconds wait) {
    cache->values.calc();
    co_await coflux::sleep_for(wait);
    cache->values.calc();
}

struct locked_cache {
    harness::cache values{};
    coflux::mutex lock{};
};

template <typename Executor>
coflux::fork<void, Executor> calc_wait_calc(auto&&, coflux::borrowed<locked_cache> cache,
                                            std::chrono::microseconds wait) {
    {
        const auto guard = co_await cache->lock.lock();
        cache->values.calc();
    }
    co_await coflux::sleep_for(wait);
    const auto guard = co_await cache->lock.lock();
    cache->values.calc();
}

template <typename Cache, typename Executor>
coflux::fork<std::uint64_t, Executor> run_round(auto&&, harness::cache_work work) {
    auto&& here = co_await coflux::context();
    Cache cache;
    std::vector<coflux::fork<void, Executor>> all;
    all.reserve(work.tasks);
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        all.push_back(calc_wait_calc<Executor>(here, coflux::borrowed(cache), work.wait));
    }
    co_await coflux::when_all(std::move(all));
    co_return cache.values.answer();
}

template <typename Cache, typename Executor>
coflux::task<std::uint64_t, Executor> run_rounds(auto&&, harness::cache_work work,
                                                 coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::uint64_t sum = 0;
    watch->start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        sum += co_await run_round<Cache, Executor>(here, work);
    }
    watch->stop();
    co_return sum;
}

template <typename Cache, typename Executor>
harness::measured measure_on(Executor& executor, const harness::request& r) {
    const harness::cache_work work{r};
    auto env = coflux::make_environment(executor);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_rounds<Cache, Executor>(env, work, coflux::borrowed(watch)).get();
    });
}

using shard = coflux::shard;
// Coroutines that are made in the i-th are made on the i-th shard.
using environments = std::deque<coflux::environment_of<shard&>>;

coflux::task<std::uint64_t, shard> run_sharded_rounds(auto&&, coflux::borrowed<environments> all,
                                                      harness::cache_work work,
                                                      coflux::borrowed<harness::stopwatch> watch) {
    std::uint64_t sum = 0;
    watch->start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        std::vector<coflux::fork<std::uint64_t, shard>> rounds;
        rounds.reserve(all->size());
        for (auto& there : *all) {
            rounds.push_back(run_round<pinned_cache, shard>(there, work));
        }
        for (const std::uint64_t answer : co_await coflux::when_all(std::move(rounds))) {
            sum += answer;
        }
    }
    watch->stop();
    co_return sum;
}

}  // namespace

harness::measured cachecalc(const harness::request& r) {
    const std::string idiom = r.choice("idiom", {"compute", "worker", "strand", "mutex"});
    if (idiom == "compute") {
        const harness::cache_work work{r};
        return harness::measure(r, [&work] { return work.compute_alone(); });
    }
    if (idiom == "worker") {
        worker one;
        return measure_on<pinned_cache>(one, r);
    }
    pool threads{r.threads()};
    if (idiom == "strand") {
        strand turns{threads};
        return measure_on<pinned_cache>(turns, r);
    }
    return measure_on<locked_cache>(threads, r);
}

harness::measured cachecalc_sharded(const harness::request& r) {
    const harness::cache_work work{r};
    coflux::shard_group shards{r.integer("shards")};
    environments all;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        all.emplace_back(shards[i]);
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_sharded_rounds(all.front(), coflux::borrowed(all), work, coflux::borrowed(watch)).get();
    });
}

}  // namespace lab
