// Coroutines that a shard calls, those that it sends to others, and yields.
#include "definitions.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <seastar/core/loop.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/later.hh>

#include <string>
#include <vector>

namespace lab {
namespace {

using number = ss::future<std::uint64_t>;

[[gnu::noinline]] number child(std::uint64_t i) {
    co_return i;
}

number await_children(std::uint64_t count, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await child(harness::opaque(i));
    }
    watch.stop();
    co_return sum;
}

[[gnu::noinline]] number next(std::uint64_t x) {
    co_return x + 1;
}

number await_calls(std::uint64_t calls, harness::stopwatch& watch) {
    std::uint64_t x = 0;
    watch.start();
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(harness::opaque(x));
    }
    watch.stop();
    co_return x;
}

// One on each shard in turn. A task for the shard of the caller runs at once, in place.
template <typename Make>
number on_all_shards(std::uint64_t tasks, Make make, harness::stopwatch& watch) {
    std::vector<number> all;
    all.reserve(tasks);
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(ss::smp::submit_to(static_cast<unsigned>(t % ss::smp::count), [make, t] { return make(t); }));
    }
    std::uint64_t sum = 0;
    for (number& each : all) {
        sum += co_await std::move(each);
    }
    watch.stop();
    co_return sum;
}

number yield_often(std::uint64_t yields, harness::roll_call& all) {
    all.come();
    while (all.waits()) {
        co_await ss::yield();
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await ss::yield();
    }
    co_return all.complete() ? done : 0;
}

number run_yielders(std::uint64_t tasks, std::uint64_t yields, harness::stopwatch& watch) {
    harness::roll_call roll{tasks};
    co_return co_await on_all_shards(
        tasks, [yields, &roll](std::uint64_t) { return yield_often(yields, roll); }, watch);
}

number compute(std::uint64_t n) {
    co_return harness::fib_by_recursion(n);
}

}  // namespace

harness::measured fork_noop(const harness::request& r, waiting how) {
    if (r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"}) != "frame_pool") {
        throw harness::unsupported_params(
            "Seastar's coroutines take their frames from its own malloc, not from a memory resource of the caller");
    }
    const std::uint64_t count = r.integer("count");
    return measure_on(1, how, r, [count](harness::stopwatch& watch) { return await_children(count, watch); });
}

harness::measured call_overhead(const harness::request& r, waiting how) {
    const std::uint64_t calls = r.integer("calls");
    return measure_on(1, how, r, [calls](harness::stopwatch& watch) { return await_calls(calls, watch); });
}

harness::measured spawn_join(const harness::request& r, waiting how) {
    const std::uint64_t count = r.integer("count");
    return measure_on(
        r.threads(), how, r, [count](harness::stopwatch& watch) { return on_all_shards(count, child, watch); }, count);
}

harness::measured yield(const harness::request& r, waiting how) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    return measure_on(r.threads(), how, r,
                      [tasks, yields](harness::stopwatch& watch) { return run_yielders(tasks, yields, watch); });
}

harness::measured fib_tasks(const harness::request& r, waiting how) {
    if (harness::shape_of(r) != "coroutine") {
        throw harness::unsupported_params(
            "nothing of Seastar is in it: bare has the loop and the generator, std the threads");
    }
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    return measure_on(r.threads(), how, r, [n, tasks](harness::stopwatch& watch) {
        return on_all_shards(tasks, [n](std::uint64_t) { return compute(n); }, watch);
    });
}

}  // namespace lab
