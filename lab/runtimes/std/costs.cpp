// Threads that compute or wait, and what one costs.
#include "coroutine_steps.hpp"
#include "seed_work.hpp"
#include "threads.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace lab {
namespace {

double each(harness::wait_clock::time_point began, std::uint64_t tasks) noexcept {
    const std::chrono::nanoseconds all = harness::wait_clock::now() - began;
    return static_cast<double>(all.count()) / static_cast<double>(tasks);
}

// The document's program: the threads spin, giving way, until all are made, which is timed apart from the computation
// and the join. Between the two it sleeps.
std::uint64_t compute_in_held_threads(std::uint64_t n, std::uint64_t tasks, harness::stopwatch& watch) {
    constexpr std::chrono::milliseconds pause{10};
    std::vector<std::uint64_t> results(tasks);
    std::atomic<bool> starts{false};
    watch.start();
    harness::wait_clock::time_point computes;
    {
        std::vector<std::jthread> threads;
        threads.reserve(tasks);
        const auto creates = harness::wait_clock::now();
        for (std::uint64_t& mine : results) {
            threads.emplace_back([&mine, &starts, n] {
                while (!starts.load(std::memory_order_acquire)) {
                    std::this_thread::yield();
                }
                mine = harness::fib_by_recursion(n);
            });
        }
        watch.figure("creation_ns", each(creates, tasks));
        std::this_thread::sleep_for(pause);
        computes = harness::wait_clock::now();
        starts.store(true, std::memory_order_release);
    }
    watch.figure("compute_ns", each(computes, tasks));
    watch.stop();
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    return sum;
}

}  // namespace

harness::measured fib_tasks(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    const std::string shape = harness::shape_of(r);
    if (shape == "held_thread") {
        return harness::measure(
            r, [n, tasks](harness::stopwatch& watch) { return compute_in_held_threads(n, tasks, watch); });
    }
    if (shape != "thread") {
        throw harness::unsupported_params("nothing of the library's is in it: bare has the loop and the coroutines");
    }
    return harness::measure(r, [n, tasks] {
        std::vector<std::uint64_t> results(tasks);
        {
            std::vector<std::jthread> threads;
            threads.reserve(tasks);
            for (std::uint64_t& mine : results) {
                threads.emplace_back([&mine, n] { mine = harness::fib_by_recursion(n); });
            }
        }
        std::uint64_t sum = 0;
        for (const std::uint64_t each : results) {
            sum += each;
        }
        return sum;
    });
}

harness::measured coroutine_costs(const harness::request& r) {
    if (harness::step_of(r) != "thread") {
        throw harness::unsupported_params("C++20 has coroutines and no library for them: bare has them by hand");
    }
    const std::uint64_t count = r.integer("count");
    return harness::measure(r, [count](harness::stopwatch& watch) {
        return harness::timed_steps(watch, count, [](std::uint64_t i) { std::jthread{[i] { harness::escape(i); }}; });
    });
}

harness::measured wait(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::chrono::microseconds length{r.integer("wait_us")};
    const bool burns = r.choice("idiom", {"timer", "devzero"}) == "devzero";
    return harness::measure(r, [=] {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto began = harness::wait_clock::now();
            if (burns) {
                harness::read_zeros_for(length);
            } else {
                std::this_thread::sleep_for(length);
            }
            sum += harness::waited(began, length);
        }
        return sum;
    });
}

}  // namespace lab
