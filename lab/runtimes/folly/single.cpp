// Workloads of one coroutine after another: calls in place, and yields.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

#include <folly/coro/CurrentExecutor.h>

#include <string>

namespace lab {
namespace {

[[gnu::noinline]] task<std::uint64_t> child(std::uint64_t i) {
    co_return i;
}

task<std::uint64_t> await_children(std::uint64_t count, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await child(harness::opaque(i));
    }
    watch.stop();
    co_return sum;
}

[[gnu::noinline]] task<std::uint64_t> next(std::uint64_t x) {
    co_return x + 1;
}

task<std::uint64_t> await_calls(std::uint64_t calls, harness::stopwatch& watch) {
    std::uint64_t x = 0;
    watch.start();
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(harness::opaque(x));
    }
    watch.stop();
    co_return x;
}

task<std::uint64_t> yield_often(std::uint64_t yields, harness::roll_call& all) {
    all.come();
    while (all.waits()) {
        co_await coro::co_reschedule_on_current_executor;
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await coro::co_reschedule_on_current_executor;
    }
    co_return all.complete() ? done : 0;
}

task<std::uint64_t> run_yielders(pool& threads, std::uint64_t tasks, std::uint64_t yields, harness::stopwatch& watch) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(tasks);
    harness::roll_call roll{tasks};
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(fork_to(threads, yield_often(yields, roll)));
    }
    const std::uint64_t done = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return done;
}

}  // namespace

harness::measured fork_noop(const harness::request& r) {
    if (const std::string resource = r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"});
        resource != "frame_pool") {
        throw harness::unsupported_params{
            "Folly's Task takes its frames from malloc, not from a memory resource of the caller"};
    }
    const std::uint64_t count = r.integer("count");
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return coro::blockingWait(await_children(count, watch)); });
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return coro::blockingWait(await_calls(calls, watch)); });
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_yielders(threads, tasks, yields, watch)); });
}

}  // namespace lab
