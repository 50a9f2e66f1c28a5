// Workloads of one task after another: calls, and yields.
#include "definitions.hpp"
#include "workloads.hpp"

#include <tmc/aw_yield.hpp>
#include <tmc/spawn_many.hpp>

#include <numeric>
#include <vector>

namespace lab {
namespace {

tmc::task<std::uint64_t> child(std::uint64_t i) {
    co_return i;
}

tmc::task<std::uint64_t> await_children(std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await child(i);
    }
    co_return sum;
}

__attribute__((noinline)) tmc::task<std::uint64_t> next(std::uint64_t x) {
    co_return harness::opaque(x) + 1;
}

tmc::task<std::uint64_t> await_calls(std::uint64_t calls) {
    std::uint64_t x = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(x);
    }
    co_return x;
}

tmc::task<std::uint64_t> yielder(std::uint64_t yields, harness::roll_call& all) {
    all.come();
    while (all.waits()) {
        co_await tmc::reschedule();
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await tmc::reschedule();
    }
    co_return all.complete() ? done : 0;
}

tmc::task<std::uint64_t> yield_together(std::uint64_t tasks, std::uint64_t yields) {
    harness::roll_call roll{tasks};
    const std::vector<std::uint64_t> done = co_await tmc::spawn_many(
        tasks_of([yields, &roll](std::uint64_t) { return yielder(yields, roll); }).begin(), tasks);
    co_return std::accumulate(done.begin(), done.end(), std::uint64_t{0});
}

}  // namespace

harness::measured fork_noop(const harness::request& r) {
    if (r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"}) != "frame_pool") {
        throw harness::unsupported_params("TooManyCooks' frames come from operator new");
    }
    const std::uint64_t count = r.integer("count");
    workers one{1};
    return measure_on(one, r, [count] { return await_children(count); });
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    workers one{1};
    return measure_on(one, r, [calls] { return await_calls(calls); });
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    workers pool{r.threads()};
    return measure_on(pool, r, [tasks, yields] { return yield_together(tasks, yields); });
}

}  // namespace lab
