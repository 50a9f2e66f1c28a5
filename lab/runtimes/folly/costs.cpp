// Coroutines that compute one after the other, and the steps of a coroutine's life.
#include "adapter.hpp"
#include "coroutine_steps.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <folly/coro/Generator.h>

#include <string>

namespace lab {
namespace {

using generator = coro::Generator<std::uint64_t>;

task<std::uint64_t> compute(std::uint64_t n) {
    co_return harness::fib_by_recursion(n);
}

task<std::uint64_t> run_computing(pool& threads, std::uint64_t n, std::uint64_t tasks, harness::stopwatch& watch) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(tasks);
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(fork_to(threads, compute(n)));
    }
    const std::uint64_t sum = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return sum;
}

generator results(std::uint64_t n) {
    for (;;) {
        co_yield harness::fib_by_recursion(n);
    }
}

// As the bare one, by the coroutine that Folly has for it; its frames come from operator new.
[[gnu::noinline]] generator numbers(std::uint64_t from) {
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
        throw harness::unsupported_params("nothing of Folly is in it: bare has the loop, std the threads");
    }
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_computing(threads, n, tasks, watch)); });
}

harness::measured coroutine_costs(const harness::request& r) {
    const std::string step = harness::step_of(r);
    const std::uint64_t count = r.integer("count");
    if (step == "create_destroy") {
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
        return harness::measure(r,
                                [&live](harness::stopwatch& watch) { return live.timed<generator>(watch, numbers); });
    }
    if (step == "switch") {
        return harness::measure(r, [count](harness::stopwatch& watch) {
            generator all = numbers(0);
            auto next = all.begin();
            return harness::timed_steps(watch, count, [&next](std::uint64_t) { ++next; });
        });
    }
    throw harness::unsupported_params(step == "create_destroy_pooled"
                                          ? "its frames come from operator new: create_destroy"
                                          : "nothing of Folly is in it: bare and std have it");
}

}  // namespace lab
