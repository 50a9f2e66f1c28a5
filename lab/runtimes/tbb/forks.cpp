// Forks on the pool: awaited at once, joined as a burst, and nested as a pipeline.
#include "definitions.hpp"
#include "loads.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_group.h>

#include <atomic>
#include <vector>

namespace lab {
namespace {

// run_and_wait is by its specification run() followed by wait(); the implementation executes the task in place.
std::uint64_t immediate(std::uint64_t forks) {
    tbb::task_group group;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        group.run_and_wait([&sum, i] { sum += i; });
    }
    return sum;
}

std::uint64_t burst(std::uint64_t forks) {
    tbb::task_group group;
    std::atomic<std::uint64_t> sum{0};
    for (std::uint64_t i = 0; i < forks; ++i) {
        group.run([&sum, i] { sum.fetch_add(i, std::memory_order_relaxed); });
    }
    group.wait();
    return sum.load(std::memory_order_relaxed);
}

// Runs body(i) in a task for each i below `count`. Half of a range is a task that another worker may take, so that the
// forks need not all be made by one.
template <typename Body>
void split(std::uint64_t count, Body body) {
    tbb::parallel_for(
        tbb::blocked_range<std::uint64_t>{0, count, 1},
        [&body](const tbb::blocked_range<std::uint64_t>& one) { body(one.begin()); }, tbb::simple_partitioner{});
}

std::uint64_t split_burst(std::uint64_t forks) {
    std::atomic<std::uint64_t> sum{0};
    split(forks, [&sum](std::uint64_t i) { sum.fetch_add(i, std::memory_order_relaxed); });
    return sum.load(std::memory_order_relaxed);
}

std::uint64_t stage(std::uint64_t depth) {
    if (depth == 1) {
        return 1;
    }
    std::uint64_t rest = 0;
    tbb::task_group group;
    group.run_and_wait([&rest, depth] { rest = stage(depth - 1); });
    return 1 + rest;
}

std::uint64_t chains(std::uint64_t depth, std::uint64_t items) {
    std::uint64_t total = 0;
    tbb::task_group group;
    for (std::uint64_t i = 0; i < items; ++i) {
        group.run_and_wait([&total, depth] { total += stage(depth); });
    }
    return total;
}

// Starts `tasks` copies of body as tasks of their own and returns the sum of what they return.
template <typename Body>
std::uint64_t sum_of_tasks(std::uint64_t tasks, Body body) {
    std::atomic<std::uint64_t> sum{0};
    tbb::task_group group;
    for (std::uint64_t t = 0; t < tasks; ++t) {
        group.run([&sum, &body] { sum.fetch_add(body(), std::memory_order_relaxed); });
    }
    group.wait();
    return sum.load(std::memory_order_relaxed);
}

std::uint64_t spawn_then_join(std::uint64_t count, harness::stopwatch& watch) {
    std::vector<std::uint64_t> results(count);
    tbb::task_group group;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        group.run([&result = results[i], i] { result = i; });
    }
    group.wait();
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    watch.stop();
    return sum;
}

std::uint64_t split_then_join(std::uint64_t count, harness::stopwatch& watch) {
    std::vector<std::uint64_t> results(count);
    watch.start();
    split(count, [&results](std::uint64_t i) { results[i] = i; });
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    watch.stop();
    return sum;
}

harness::measured measure_fork_pool(const harness::request& r, std::uint64_t (*at_the_end)(std::uint64_t)) {
    const auto body = r.choice("mode", {"immediate", "final"}) == "immediate" ? immediate : at_the_end;
    const std::uint64_t forks = r.integer("count") / r.threads();
    workers pool{r.threads()};
    return harness::measure(
        r, [&] { return pool.run([&] { return sum_of_tasks(r.threads(), [&] { return body(forks); }); }); });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool(r, burst);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool(r, split_burst);
}

harness::measured fib_tasks(const harness::request& r) {
    if (harness::shape_of(r) != "coroutine") {
        throw harness::unsupported_params("oneTBB has tasks, which stand for the coroutines");
    }
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    workers pool{r.threads()};
    return harness::measure(
        r, [&] { return pool.run([&] { return sum_of_tasks(tasks, [n] { return harness::fib_by_recursion(n); }); }); });
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return spawn_then_join(count, watch); }); });
}

harness::measured spawn_join_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return split_then_join(count, watch); }); });
}

harness::measured memory_after_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return split_then_join(count, watch); }); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return spawn_then_join(count, watch); }); });
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (crowd.sends()) {
        throw harness::unsupported_params{"a TBB task that waits in a queue keeps its thread"};
    }
    workers pool{crowd.workers()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return spawn_then_join(crowd.count(), watch); }); });
}

harness::measured pipeline(const harness::request& r) {
    const std::uint64_t concurrency = r.integer("concurrency");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    workers pool{r.threads()};
    return harness::measure(
        r, [&] { return pool.run([&] { return sum_of_tasks(concurrency, [&] { return chains(depth, items); }); }); });
}

}  // namespace lab
