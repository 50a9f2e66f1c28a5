// The workloads of the TooManyCooks adapter, the executor that all of them have, and the task that times them.
#pragma once

#include "harness.hpp"

#include <tmc/ex_cpu.hpp>
#include <tmc/sync.hpp>
#include <tmc/task.hpp>
#include <tmc/topology.hpp>

#include <cstdint>
#include <ranges>
#include <utility>

namespace lab {

// Exactly `threads` threads. With hwloc each is bound to a core, as the author's benchmarks have it.
class workers {
public:
    explicit workers(unsigned threads,
                     tmc::work_stealing_strategy strategy = tmc::work_stealing_strategy::HIERARCHY_MATRIX,
                     bool bound_to_cores = true) {
        if (threads > most_threads) {
            throw harness::unsupported_params(
                "an executor has 64 threads at most, but with TMC_MORE_THREADS, which all rows would pay for");
        }
        executor_.set_thread_count(threads).set_work_stealing_strategy(strategy);
#ifdef TMC_USE_HWLOC
        executor_.set_thread_pinning_level(bound_to_cores ? tmc::topology::thread_pinning_level::CORE
                                                          : tmc::topology::thread_pinning_level::NONE);
#else
        (void)bound_to_cores;
#endif
        executor_.init();
    }

    [[nodiscard]] tmc::ex_cpu& executor() noexcept { return executor_; }

    std::uint64_t run(tmc::task<std::uint64_t>&& root) { return tmc::post_waitable(executor_, std::move(root)).get(); }

private:
    static constexpr unsigned most_threads = 64;

    tmc::ex_cpu executor_;
};

// Times what `make` returns on a worker, so that the hand-over from the main thread is not in the figure.
template <typename Make>
tmc::task<std::uint64_t> timed(harness::stopwatch& watch, Make make) {
    watch.start();
    const std::uint64_t answer = co_await make();
    watch.stop();
    co_return answer;
}

// Passes of the task that `make` returns.
template <typename Make>
harness::measured measure_on(workers& pool, const harness::request& r, Make make) {
    return harness::measure(r, [&](harness::stopwatch& watch) { return pool.run(timed(watch, make)); });
}

// make(0), make(1), ... for spawn_many, which takes as many as it was told.
template <typename Make>
auto tasks_of(Make make) {
    return std::views::iota(std::uint64_t{0}) | std::views::transform(make);
}

harness::measured fork_pool(const harness::request& r);
harness::measured fork_pool_expert(const harness::request& r);
harness::measured pipeline(const harness::request& r);
harness::measured pipeline_expert(const harness::request& r);
harness::measured spawn_join(const harness::request& r);
harness::measured memory_after(const harness::request& r);
harness::measured oversubscribed(const harness::request& r);
harness::measured fib_tasks(const harness::request& r);
harness::measured fib(const harness::request& r);
harness::measured skynet(const harness::request& r);
harness::measured nqueens(const harness::request& r);
harness::measured matmul(const harness::request& r);
harness::measured unbalanced(const harness::request& r);
harness::measured fork_noop(const harness::request& r);
harness::measured call_overhead(const harness::request& r);
harness::measured yield(const harness::request& r);
harness::measured fairness(const harness::request& r);
harness::measured outside_wake(const harness::request& r);
harness::measured inject(const harness::request& r);
harness::measured latency_under_load(const harness::request& r);

}  // namespace lab
