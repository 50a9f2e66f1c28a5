// Forks on the pool: awaited at once, joined as a burst, and nested as a pipeline.
#include "definitions.hpp"
#include "loads.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <tmc/spawn.hpp>
#include <tmc/spawn_many.hpp>

#include <numeric>
#include <vector>

namespace lab {
namespace {

tmc::task<std::uint64_t> trivial(std::uint64_t i) {
    co_return i;
}

// Posts what make(0), make(1), ... return, all at once, awaits them and sums the results.
template <typename Make>
tmc::task<std::uint64_t> sum_of(std::uint64_t tasks, Make make) {
    const std::vector<std::uint64_t> results = co_await tmc::spawn_many(tasks_of(make).begin(), tasks);
    co_return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

// A spawn that is awaited at once goes through the queue, as a fork does, and needs no counter.
tmc::task<std::uint64_t> immediate(std::uint64_t forks) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await tmc::spawn(trivial(i));
    }
    co_return sum;
}

// A child that never goes through the queue.
tmc::task<std::uint64_t> in_place(std::uint64_t forks) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await trivial(i);
    }
    co_return sum;
}

tmc::task<std::uint64_t> burst(std::uint64_t forks) {
    return sum_of(forks, trivial);
}

tmc::task<std::uint64_t> stage(std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await tmc::spawn(stage(depth - 1));
}

tmc::task<std::uint64_t> chains(std::uint64_t depth, std::uint64_t items) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await tmc::spawn(stage(depth));
    }
    co_return total;
}

// A stage that never goes through the queue.
tmc::task<std::uint64_t> stage_in_place(std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await stage_in_place(depth - 1);
}

tmc::task<std::uint64_t> chains_in_place(std::uint64_t depth, std::uint64_t items) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage_in_place(depth);
    }
    co_return total;
}

using chains_of_a_task = tmc::task<std::uint64_t> (*)(std::uint64_t depth, std::uint64_t items);

harness::measured measure_pipelines(const harness::request& r, chains_of_a_task task) {
    const std::uint64_t concurrency = r.integer("concurrency");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    workers pool{r.threads()};
    return measure_on(pool, r, [=] { return sum_of(concurrency, [=](std::uint64_t) { return task(depth, items); }); });
}

using sub_task = tmc::task<std::uint64_t> (*)(std::uint64_t forks);

harness::measured measure_fork_pool(const harness::request& r, sub_task one_by_one) {
    const sub_task body = r.choice("mode", {"immediate", "final"}) == "immediate" ? one_by_one : burst;
    const std::uint64_t forks = r.integer("count") / r.threads();
    workers pool{r.threads()};
    return measure_on(pool, r,
                      [&] { return sum_of(r.threads(), [body, forks](std::uint64_t) { return body(forks); }); });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool(r, immediate);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool(r, in_place);
}

harness::measured pipeline(const harness::request& r) {
    return measure_pipelines(r, chains);
}

harness::measured pipeline_expert(const harness::request& r) {
    return measure_pipelines(r, chains_in_place);
}

harness::measured fib_tasks(const harness::request& r) {
    if (harness::shape_of(r) != "coroutine") {
        throw harness::unsupported_params("nothing of TooManyCooks is in it: bare has the loop, std the threads");
    }
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    workers pool{r.threads()};
    return measure_on(pool, r, [n, tasks] {
        return sum_of(tasks, [n](std::uint64_t) -> tmc::task<std::uint64_t> {
            return [](std::uint64_t n) -> tmc::task<std::uint64_t> { co_return harness::fib_by_recursion(n); }(n);
        });
    });
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return measure_on(pool, r, [count] { return sum_of(count, trivial); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure_rest(r, [&](harness::stopwatch& watch) {
        return pool.run(timed(watch, [count] { return sum_of(count, trivial); }));
    });
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (crowd.sends()) {
        throw harness::unsupported_params("no queue of TooManyCooks has a bound and several receivers");
    }
    workers pool{crowd.workers()};
    return measure_on(pool, r, [&crowd] { return sum_of(crowd.count(), trivial); });
}

}  // namespace lab
