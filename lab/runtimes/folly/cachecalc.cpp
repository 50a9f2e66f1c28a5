// Coroutines that wait between two calculations, and what excludes them: their executor, or a lock.
#include "cachecalc.hpp"

#include "adapter.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <folly/coro/Sleep.h>
#include <folly/executors/StrandExecutor.h>
#include <folly/futures/HeapTimekeeper.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

namespace lab {
namespace {

// Excluded by an executor that runs one coroutine at a time: one thread or a strand.
struct pinned_cache {
    harness::cache values{};
};

// A calculation does not suspend, so the lock need not be one for coroutines.
struct locked_cache {
    harness::cache values{};
    std::mutex lock{};
};

task<void> calc_wait_calc(pinned_cache& cache, std::chrono::microseconds wait, folly::Timekeeper* timers) {
    cache.values.calc();
    co_await coro::sleep(wait, timers);
    cache.values.calc();
}

task<void> calc_wait_calc(locked_cache& cache, std::chrono::microseconds wait, folly::Timekeeper* timers) {
    {
        const std::lock_guard guard{cache.lock};
        cache.values.calc();
    }
    co_await coro::sleep(wait, timers);
    const std::lock_guard guard{cache.lock};
    cache.values.calc();
}

// `place(task)` says where a task runs: its result is awaited. There is no timekeeper in place of Folly's own.
template <typename Cache, typename Place>
task<std::uint64_t> run_round(const harness::cache_work& work, Place place, folly::Timekeeper* timers = nullptr) {
    Cache cache;
    std::vector<std::invoke_result_t<Place&, task<void>>> all;
    all.reserve(work.tasks);
    for (std::uint64_t i = 0; i < work.tasks; ++i) {
        all.push_back(place(calc_wait_calc(cache, work.wait, timers)));
    }
    co_await coro::collectAllRange(std::move(all));
    co_return cache.values.answer();
}

template <typename Cache, typename Place>
task<std::uint64_t> run_rounds(const harness::cache_work& work, Place place, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        sum += co_await run_round<Cache>(work, place);
    }
    watch.stop();
    co_return sum;
}

// Awaited as it is a task runs where the coroutine runs that awaits it.
constexpr auto here = [](task<void> each) { return each; };

// A thread with a CPU of its own, and its timers.
class shard {
public:
    explicit shard(std::size_t cpu) {
        thread_.add([cpu] { harness::pin_this_thread(cpu); });
    }

    [[nodiscard]] forked<std::uint64_t> round(const harness::cache_work& work) {
        return fork_to(thread_, run_round<pinned_cache>(work, here, &timers_));
    }

    [[nodiscard]] pool& thread() noexcept { return thread_; }

private:
    folly::HeapTimekeeper timers_;
    pool thread_{1};
};

using shards = std::vector<std::unique_ptr<shard>>;

task<std::uint64_t> run_sharded_rounds(const shards& all, const harness::cache_work& work, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        std::vector<forked<std::uint64_t>> rounds;
        rounds.reserve(all.size());
        // This coroutine's own shard is the first: the others begin before it.
        for (auto each = all.rbegin(); each != all.rend(); ++each) {
            rounds.push_back((*each)->round(work));
        }
        sum += sum_of_all(co_await coro::collectAllRange(std::move(rounds)));
    }
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured cachecalc(const harness::request& r) {
    const harness::cache_work work{r};
    const std::string idiom = r.choice("idiom", {"compute", "worker", "strand", "mutex"});
    if (idiom == "compute") {
        throw harness::unsupported_params("the compiled loop of bare: nothing of Folly is in it");
    }
    if (idiom == "worker") {
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return coro::blockingWait(run_rounds<pinned_cache>(work, here, watch));
        });
    }
    pool threads{r.threads()};
    if (idiom == "strand") {
        const auto strand = folly::StrandExecutor::create(&threads);
        const auto on_strand = [&strand](task<void> each) { return coro::co_withExecutor(strand, std::move(each)); };
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return run(threads, run_rounds<pinned_cache>(work, on_strand, watch));
        });
    }
    const auto on_pool = [&threads](task<void> each) { return fork_to(threads, std::move(each)); };
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_rounds<locked_cache>(work, on_pool, watch)); });
}

harness::measured cachecalc_sharded(const harness::request& r) {
    const harness::cache_work work{r};
    shards all;
    for (std::uint64_t s = 0; s < r.integer("shards"); ++s) {
        all.push_back(std::make_unique<shard>(s));
    }
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(all.front()->thread(), run_sharded_rounds(all, work, watch)); });
}

}  // namespace lab
