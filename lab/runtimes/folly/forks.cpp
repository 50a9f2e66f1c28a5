// Forks on the pool: awaited at once, joined as a burst, and nested as a pipeline.
#include "adapter.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "workloads.hpp"

#include <folly/futures/Future.h>

namespace lab {
namespace {

task<std::uint64_t> child(std::uint64_t i) {
    co_return i;
}

task<std::uint64_t> immediate(pool& threads, std::uint64_t forks) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await fork_to(threads, child(i));
    }
    co_return sum;
}

// A child that runs in its parent's place, and never goes through the pool.
task<std::uint64_t> in_place(pool& /*threads*/, std::uint64_t forks) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await child(i);
    }
    co_return sum;
}

task<std::uint64_t> burst(pool& threads, std::uint64_t forks) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(forks);
    for (std::uint64_t i = 0; i < forks; ++i) {
        all.push_back(fork_to(threads, child(i)));
    }
    co_return sum_of_all(co_await coro::collectAllRange(std::move(all)));
}

task<std::uint64_t> lean_burst(pool& threads, std::uint64_t forks) {
    sum_of_children all{forks};
    for (std::uint64_t i = 0; i < forks; ++i) {
        all.start(fork_to(threads, child(i)));
    }
    co_await all.ended();
    co_return all.sum();
}

task<std::uint64_t> stage(pool& threads, std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await fork_to(threads, stage(threads, depth - 1));
}

task<std::uint64_t> chains(pool& threads, std::uint64_t depth, std::uint64_t items) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await fork_to(threads, stage(threads, depth));
    }
    co_return total;
}

// Forks what `make` makes, `tasks` times at once, and sums the results.
template <typename Make>
task<std::uint64_t> sum_of(pool& threads, std::uint64_t tasks, Make make, harness::stopwatch& watch) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(tasks);
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(fork_to(threads, make()));
    }
    const std::uint64_t sum = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return sum;
}

// A handle is a future.
task<std::uint64_t> start_then_join(pool& threads, std::uint64_t count, harness::stopwatch& watch) {
    std::vector<folly::SemiFuture<std::uint64_t>> all;
    all.reserve(count);
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        all.push_back(fork_to(threads, child(i)).start());
    }
    std::uint64_t sum = 0;
    for (auto& each : all) {
        sum += co_await std::move(each);
    }
    watch.stop();
    co_return sum;
}

// No future for each.
task<std::uint64_t> lean_start_then_join(pool& threads, std::uint64_t count, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t sum = co_await lean_burst(threads, count);
    watch.stop();
    co_return sum;
}

using sub_task = task<std::uint64_t> (*)(pool&, std::uint64_t);

harness::measured measure_fork_pool(const harness::request& r, sub_task one_by_one, sub_task last) {
    const sub_task body = r.choice("mode", {"immediate", "final"}) == "immediate" ? one_by_one : last;
    const std::uint64_t forks = r.integer("count") / r.threads();
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads, sum_of(threads, r.threads(), [&] { return body(threads, forks); }, watch));
    });
}

// A stage that runs in its caller's place, and never goes through the pool.
task<std::uint64_t> stage_in_place(std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await stage_in_place(depth - 1);
}

task<std::uint64_t> chains_in_place(pool& /*threads*/, std::uint64_t depth, std::uint64_t items) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage_in_place(depth);
    }
    co_return total;
}

using chains_of_a_task = task<std::uint64_t> (*)(pool&, std::uint64_t depth, std::uint64_t items);

harness::measured measure_pipelines(const harness::request& r, chains_of_a_task task) {
    const std::uint64_t concurrency = r.integer("concurrency");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads, sum_of(threads, concurrency, [&] { return task(threads, depth, items); }, watch));
    });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool(r, immediate, burst);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool(r, in_place, lean_burst);
}

harness::measured pipeline(const harness::request& r) {
    return measure_pipelines(r, chains);
}

harness::measured pipeline_expert(const harness::request& r) {
    return measure_pipelines(r, chains_in_place);
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, start_then_join(threads, count, watch)); });
}

harness::measured spawn_join_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, lean_start_then_join(threads, count, watch)); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return run(threads, lean_start_then_join(threads, count, watch)); });
}

harness::measured forks_of_a_crowd(const harness::request& r) {
    const harness::crowd crowd{r};
    pool threads{crowd.workers()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads, lean_start_then_join(threads, crowd.count(), watch));
    });
}

}  // namespace lab
