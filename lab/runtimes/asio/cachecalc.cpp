// Coroutines that wait between two calculations: on one thread, on a strand, or beside each other under a std::mutex.
#include "cachecalc.hpp"

#include "adapter.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lab {
namespace {

using context_executor = asio::io_context::executor_type;
using strand = asio::strand<pool_executor>;

// The lock where the executor excludes the others.
struct no_lock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

template <typename Lock>
struct shared_cache {
    harness::cache values{};
    Lock mutex{};

    void calc() {
        const std::lock_guard held{mutex};
        values.calc();
    }
};

template <typename Executor, typename Lock>
asio::awaitable<void, Executor> calc_wait_calc(shared_cache<Lock>& cache, Executor here,
                                               std::chrono::microseconds wait) {
    using clock = std::chrono::steady_clock;
    cache.calc();
    asio::basic_waitable_timer<clock, asio::wait_traits<clock>, Executor> alarm{here, wait};
    co_await alarm.async_wait(asio::deferred);
    cache.calc();
}

// Makes the tasks on `executor` and is itself a coroutine on Outer: where the two are the same, a task runs inside its
// co_spawn up to its wait.
template <typename Lock, typename Outer, typename Executor>
asio::awaitable<std::uint64_t, Outer> run_round(const harness::cache_work& work, Executor executor) {
    shared_cache<Lock> cache;
    sum_of_children_on<Outer> all{work.tasks};
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        asio::co_spawn(executor, calc_wait_calc(cache, executor, work.wait), all.delivery());
    }
    co_await all.wait();
    co_return cache.values.answer();
}

template <typename Lock, typename Outer, typename Executor>
asio::awaitable<std::uint64_t, Outer> run_rounds(const harness::cache_work& work, Executor executor,
                                                 harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        sum += co_await run_round<Lock, Outer>(work, executor);
    }
    watch.stop();
    co_return sum;
}

// An event loop and the thread that runs it, which has a CPU of its own.
class shard {
public:
    explicit shard(std::size_t cpu)
        : thread_{[this, cpu] {
              harness::pin_this_thread(cpu);
              context_.run();
          }} {}
    ~shard() { context_.stop(); }
    shard(const shard&) = delete;
    shard& operator=(const shard&) = delete;

    [[nodiscard]] context_executor executor() noexcept { return context_.get_executor(); }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<context_executor> stays_{context_.get_executor()};
    std::jthread thread_;
};

using shards = std::vector<std::unique_ptr<shard>>;

asio::awaitable<std::uint64_t, context_executor> run_sharded_rounds(const shards& all, const harness::cache_work& work,
                                                                    harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t round = 0; round < work.rounds; ++round) {
        sum_of_children_on<context_executor> rounds{all.size()};
        // This coroutine's own shard is the first: the others begin while it goes on here.
        for (auto each = all.rbegin(); each != all.rend(); ++each) {
            asio::co_spawn((*each)->executor(), run_round<no_lock, context_executor>(work, (*each)->executor()),
                           rounds.delivery());
        }
        sum += co_await rounds.wait();
    }
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured cachecalc(const harness::request& r) {
    const harness::cache_work work{r};
    const std::string idiom = r.choice("idiom", {"compute", "worker", "strand", "mutex"});
    if (idiom == "compute") {
        throw harness::unsupported_params("the compiled loop of bare: nothing of Asio is in it");
    }
    if (idiom == "worker") {
        asio::io_context context{1};
        return harness::measure(r, [&](harness::stopwatch& watch) {
            auto root = run_rounds<no_lock, context_executor>(work, context.get_executor(), watch);
            auto sum = asio::co_spawn(context, std::move(root), asio::use_future);
            context.run();
            context.restart();
            return sum.get();
        });
    }
    asio::thread_pool pool{r.threads()};
    const pool_executor executor = pool.get_executor();
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(pool, idiom == "strand" ? run_rounds<no_lock, pool_executor>(work, strand{executor}, watch)
                                           : run_rounds<std::mutex, pool_executor>(work, executor, watch));
    });
}

harness::measured cachecalc_sharded(const harness::request& r) {
    const harness::cache_work work{r};
    shards all;
    for (std::uint64_t s = 0; s < r.integer("shards"); ++s) {
        all.push_back(std::make_unique<shard>(s));
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return asio::co_spawn(all.front()->executor(), run_sharded_rounds(all, work, watch), asio::use_future).get();
    });
}

}  // namespace lab
