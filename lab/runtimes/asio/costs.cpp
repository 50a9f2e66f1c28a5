// Coroutines that compute or wait, and what making one costs.
#include "adapter.hpp"
#include "coroutine_steps.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <utility>

namespace lab {
namespace {

using context_executor = asio::io_context::executor_type;
using timer = asio::basic_waitable_timer<harness::wait_clock, asio::wait_traits<harness::wait_clock>, context_executor>;

awaitable<std::uint64_t> compute(std::uint64_t n) {
    co_await to_the_pool();
    co_return harness::fib_by_recursion(n);
}

awaitable<std::uint64_t> run_computing(std::uint64_t n, std::uint64_t tasks, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{tasks};
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        asio::co_spawn(pool, compute(n), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

asio::awaitable<std::uint64_t, context_executor> run_waits(std::uint64_t count, std::chrono::microseconds length,
                                                           harness::stopwatch& watch) {
    timer alarm{co_await asio::this_coro::executor};
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto began = harness::wait_clock::now();
        alarm.expires_after(length);
        co_await alarm.async_wait(asio::deferred);
        sum += harness::waited(began, length);
    }
    watch.stop();
    co_return sum;
}

[[gnu::noinline]] awaitable<std::uint64_t> number(std::uint64_t i) {
    co_return i;
}

}  // namespace

harness::measured fib_tasks(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    if (const std::string shape = harness::shape_of(r); shape != "coroutine") {
        throw harness::unsupported_params(shape == "generator"
                                              ? "Asio's coro can yield and is experimental: bare has a generator"
                                              : "nothing of Asio is in it: bare has the loop, std the threads");
    }
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, run_computing(n, tasks, watch)); });
}

harness::measured wait(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::chrono::microseconds length{r.integer("wait_us")};
    if (r.choice("idiom", {"timer", "devzero"}) == "devzero") {
        throw harness::unsupported_params("std has it: the thread reads, and nothing of a runtime is in it");
    }
    asio::io_context context{1};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        auto sum = asio::co_spawn(context, run_waits(count, length, watch), asio::use_future);
        context.run();
        context.restart();
        return sum.get();
    });
}

// An awaitable begins when it is awaited, so one that is dropped was created and destroyed and no more.
harness::measured coroutine_costs(const harness::request& r) {
    const std::string step = harness::step_of(r);
    const std::uint64_t count = r.integer("count");
    if (step == "create_destroy_pooled") {
        return harness::measure(r, [count](harness::stopwatch& watch) {
            return harness::timed_steps(watch, count, [](std::uint64_t i) { harness::escape(number(i)); });
        });
    }
    if (step == "create_live" || step == "destroy_live") {
        const harness::live_steps live{r};
        return harness::measure(
            r, [&live](harness::stopwatch& watch) { return live.timed<awaitable<std::uint64_t>>(watch, number); });
    }
    throw harness::unsupported_params(
        step == "create_destroy" ? "its frames come from Asio's own recycling allocator: create_destroy_pooled"
                                 : "an awaitable cannot be resumed by hand, and the rest has nothing of Asio in it");
}

}  // namespace lab
