// The rows that threads outside of a runtime drive, and those that measure memory: what is not the runtime's own part.
#pragma once

#include "harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace harness {

// outside_wake: the thread that asks. `ask(i)` blocks until the pool has answered, with i + 1.
template <typename Ask>
[[nodiscard]] measured ask_often(const request& r, Ask ask) {
    using clock = std::chrono::steady_clock;
    const std::uint64_t requests = r.integer("requests");
    const std::chrono::microseconds gap{r.integer("gap_us")};
    return measure(r, [&](stopwatch& watch) {
        std::uint64_t sum = 0;
        watch.start();
        for (std::uint64_t i = 0; i < requests; ++i) {
            const auto began = clock::now();
            sum += ask(i);
            watch.item_took(clock::now() - began);
            if (gap.count() != 0) {
                std::this_thread::sleep_for(gap);
            }
        }
        watch.stop();
        return sum;
    });
}

// inject: the threads that start tasks, and what a task does. Outlives the pool.
class injection {
public:
    explicit injection(const request& r);

    // All that a task does.
    void ran(std::uint64_t producer, std::uint64_t number) noexcept;

    // `start(producer, number)` starts a task that calls ran() with both.
    template <typename Start>
    [[nodiscard]] std::uint64_t run(stopwatch& watch, Start start) {
        std::latch begin{static_cast<std::ptrdiff_t>(parts_.size()) + 1};
        std::vector<std::jthread> threads;
        threads.reserve(parts_.size());
        for (std::uint64_t producer = 0; producer < parts_.size(); ++producer) {
            threads.emplace_back([this, &begin, &start, producer] {
                begin.arrive_and_wait();
                for (std::uint64_t i = 1; i <= each_; ++i) {
                    start(producer, producer * each_ + i);
                }
            });
        }
        prepare();
        watch.start();
        begin.arrive_and_wait();
        threads.clear();
        wait_for_all();
        watch.stop();
        return sum();
    }

private:
    // A line of its own for what the tasks of one thread write.
    struct alignas(64) part {
        std::atomic<std::uint64_t> sum{0};
        std::atomic<std::uint64_t> left{0};
    };

    void prepare() noexcept;
    void wait_for_all() const noexcept;
    [[nodiscard]] std::uint64_t sum() const noexcept;

    std::uint64_t each_;
    std::vector<part> parts_;
    std::atomic<std::uint64_t> running_{0};  // threads of which not all tasks have run; the last one notifies
};

// latency_under_load: when tasks are to arrive, and what they do. Outlives the pool.
class open_loop {
public:
    using clock = std::chrono::steady_clock;

    explicit open_loop(const request& r);

    // All that a task does, the number counted from 0.
    void run_task(std::uint64_t number) noexcept;

    // `start(number)` starts a task that calls run_task(number). Called by a thread outside of the runtime.
    template <typename Start>
    [[nodiscard]] std::uint64_t run(stopwatch& watch, Start start) {
        begin(watch);
        for (std::uint64_t number = 0; number < intended_.size(); ++number) {
            wait_for_arrival(number);
            start(number);
        }
        return end(watch);
    }

private:
    void begin(stopwatch& watch);
    void wait_for_arrival(std::uint64_t number) const;
    [[nodiscard]] std::uint64_t end(stopwatch& watch);

    std::chrono::nanoseconds work_;
    clock::time_point began_{};
    std::vector<std::chrono::nanoseconds> intended_;   // from began_ on
    std::vector<std::chrono::nanoseconds> latencies_;  // each is written by its task alone, before it counts down
    std::atomic<std::uint64_t> left_{0};               // tasks that have not ended; the last one notifies
};

// idle_tasks: what a sleeper does around its sleep, and what is read when all sleep.
class idlers {
public:
    using clock = std::chrono::steady_clock;

    explicit idlers(const request& r);

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::chrono::milliseconds length() const noexcept { return length_; }

    // A sleeper's first statement; returns when it began.
    clock::time_point falls_asleep() noexcept {
        asleep_.fetch_add(1, std::memory_order_relaxed);
        return clock::now();
    }
    // Its last one: 1, or 0 where it is early.
    std::uint64_t wakes(clock::time_point began) noexcept {
        woken_.fetch_add(1, std::memory_order_relaxed);
        return clock::now() - began < length_ ? 0 : 1;
    }

    // The maker: before the first spawn; whether all sleep; then; and with the sum of what all returned.
    void spawning(stopwatch& watch);
    [[nodiscard]] bool all_sleep() const noexcept { return asleep_.load(std::memory_order_relaxed) == count_; }
    void sleeping(stopwatch& watch);
    [[nodiscard]] std::uint64_t answer(std::uint64_t sum) const noexcept { return none_had_woken_ ? sum : 0; }

    // How often the maker looks.
    static constexpr std::chrono::milliseconds look{1};

private:
    std::uint64_t count_;
    std::chrono::milliseconds length_;
    std::atomic<std::uint64_t> asleep_{0};
    std::atomic<std::uint64_t> woken_{0};
    std::uint64_t rss_before_ = 0;
    bool none_had_woken_ = false;
};

// memory_after: what a burst leaves, at once and after the runtime was idle. `run(watch)` is the burst.
template <typename Run>
[[nodiscard]] measured measure_rest(const request& r, Run run) {
    const std::chrono::milliseconds idle{r.integer("idle_ms")};
    const std::uint64_t before = rss_bytes();
    const auto kept = [before] {
        const std::uint64_t now = rss_bytes();
        return now > before ? static_cast<double>(now - before) : 0.0;
    };
    measured m = measure_once(run);
    m.figures.set("kept_bytes", kept());
    std::this_thread::sleep_for(idle);
    m.figures.set("kept_when_idle_bytes", kept());
    return m;
}

}  // namespace harness
