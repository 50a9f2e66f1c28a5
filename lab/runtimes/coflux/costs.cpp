// Coroutines that compute or wait one after the other, and the steps of a coroutine's life.
// Idioms: docs/tour/01-first-program.md
#include "coroutine_steps.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;

coflux::fork<std::uint64_t, pool> compute(auto&&, std::uint64_t n) {
    co_return harness::fib_by_recursion(n);
}

coflux::task<std::uint64_t, pool> run_computing(auto&&, std::uint64_t n, std::uint64_t tasks, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, pool>> all;
    all.reserve(tasks);
    watch->start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(compute(here, n));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

coflux::generator<std::uint64_t> results(std::uint64_t n) {
    for (;;) {
        co_yield harness::fib_by_recursion(n);
    }
}

coflux::task<std::uint64_t, coflux::worker_executor> run_waits(auto&&, std::uint64_t count,
                                                               std::chrono::microseconds wait, watch_ref watch) {
    std::uint64_t sum = 0;
    watch->start();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto began = harness::wait_clock::now();
        co_await coflux::sleep_for(wait);
        sum += harness::waited(began, wait);
    }
    watch->stop();
    co_return sum;
}

// As the bare one, by the coroutine that Coflux has for it.
__attribute__((noinline)) coflux::generator<std::uint64_t> numbers(std::uint64_t from) {
    for (;; ++from) {
        co_yield from;
    }
}

}  // namespace

harness::measured fib_tasks(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    const std::string shape = harness::shape_of(r);
    if (shape == "generator") {
        return harness::measure(r, [n, tasks] {
            auto all = results(n);
            auto next = all.begin();
            std::uint64_t sum = *next;
            for (std::uint64_t t = 1; t < tasks; ++t) {
                ++next;
                sum += *next;
            }
            return sum;
        });
    }
    if (shape != "coroutine") {
        throw harness::unsupported_params("nothing of Coflux is in it: bare has the loop, std the threads");
    }
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_computing(env, n, tasks, coflux::borrowed(watch)).get(); });
}

harness::measured wait(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::chrono::microseconds length{r.integer("wait_us")};
    if (r.choice("idiom", {"timer", "devzero"}) == "devzero") {
        throw harness::unsupported_params("std has it: the thread reads, and nothing of a runtime is in it");
    }
    coflux::worker_executor one;
    auto env = coflux::make_environment(one);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_waits(env, count, length, coflux::borrowed(watch)).get(); });
}

harness::measured coroutine_costs(const harness::request& r) {
    using generator = coflux::generator<std::uint64_t>;
    const std::string step = harness::step_of(r);
    const std::uint64_t count = r.integer("count");
    if (step == "create_destroy_pooled") {
        return harness::measure(r, [count](harness::stopwatch& watch) {
            return harness::timed_steps(watch, count, [](std::uint64_t i) { harness::escape(numbers(i)); });
        });
    }
    if (step == "create_run_destroy") {
        return harness::measure(r, [count](harness::stopwatch& watch) {
            return harness::timed_steps(watch, count, [](std::uint64_t i) {
                generator one = numbers(i);
                harness::escape(one.begin());
            });
        });
    }
    if (step == "create_live" || step == "destroy_live") {
        const harness::live_steps live{r};
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return live.timed<generator>(watch, [](std::uint64_t i) { return numbers(i); });
        });
    }
    if (step == "switch" || step == "co_yield") {
        return harness::measure(r, [count](harness::stopwatch& watch) {
            generator all = numbers(0);
            auto next = all.begin();
            return harness::timed_steps(watch, count, [&next](std::uint64_t) { ++next; });
        });
    }
    throw harness::unsupported_params(step == "create_destroy"
                                          ? "its frames come from the frame pool: create_destroy_pooled"
                                          : "nothing of Coflux is in it: bare and std have it");
}

}  // namespace lab
