// The workloads' definitions that every adapter shares, so that two runtimes cannot differ by a slip: names of the
// parameters, item counts, and the arithmetic of the trees. The runner states the item counts a second time in
// lab/workloads and compares the two.
#pragma once

#include "harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

// Empty for a workload that this file does not know.
[[nodiscard]] std::vector<std::string> parameters_of(std::string_view workload);
// All that this file knows.
[[nodiscard]] std::vector<std::string_view> workload_names();
[[nodiscard]] std::optional<std::uint64_t> items_of(const request& r);

// How often fib(n) forks: once in every call with n >= 2.
[[nodiscard]] std::uint64_t fib_forks(std::uint64_t n) noexcept;
// 10 to the power of depth.
[[nodiscard]] std::uint64_t skynet_leaves(std::uint64_t depth) noexcept;
// All tasks of skynet's tree, the root included.
[[nodiscard]] std::uint64_t skynet_tasks(std::uint64_t depth) noexcept;

// The boards of n columns, 1 to 14 as board.hpp has them, that the search for n queens comes by, the empty one
// included.
[[nodiscard]] std::uint64_t nqueens_tasks(std::uint64_t n);
// The products of two blocks of 32 by 32 that one of two n by n matrices is made of.
[[nodiscard]] std::uint64_t matmul_leaves(std::uint64_t n) noexcept;

// The answer of a channel that keeps the order of the numbers 1, 2, 3, ...: the k-th received counts k times, so any
// other order, a loss or a duplicate gives another sum.
class ordered_sum {
public:
    void add(std::uint64_t received) noexcept { sum_ += ++position_ * received; }
    [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

private:
    std::uint64_t position_ = 0;
    std::uint64_t sum_ = 0;
};

// The numbers that one producer of channel_mpmc sends.
struct share {
    std::uint64_t first;
    std::uint64_t last;
};

// The shares of the producers, in order; together the numbers from 1 to items_of(r).
[[nodiscard]] std::vector<share> shares_of(const request& r);
[[nodiscard]] std::vector<share> shares_of(std::uint64_t count, std::uint64_t producers);

// The pool of oversubscribed, and its channel.
class crowd {
public:
    static constexpr std::uint64_t senders = 4;
    static constexpr std::uint64_t receivers = 4;
    static constexpr std::uint64_t capacity = 16;

    explicit crowd(const request& r);

    [[nodiscard]] unsigned workers() const noexcept { return workers_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    // Whether numbers go through the channel; else tasks are made and awaited.
    [[nodiscard]] bool sends() const noexcept { return sends_; }
    [[nodiscard]] std::vector<share> shares() const { return shares_of(count_, senders); }

private:
    unsigned workers_;
    std::uint64_t count_;
    bool sends_;
};

// The vector that the producer of mpsc_batches sends as number `index`, counted from 0.
[[nodiscard]] std::vector<std::uint64_t> batch_of(std::uint64_t index, std::uint64_t size);
[[nodiscard]] std::uint64_t sum_of(const std::vector<std::uint64_t>& batch) noexcept;

// The proof that the yields of `yield` let others run: each task yields until all have begun, which with a yield that
// does nothing never happens where there are more tasks than threads. Then the answer is 0.
class roll_call {
public:
    explicit roll_call(std::uint64_t tasks) noexcept : tasks_{tasks} {}

    // A task has begun.
    void come() noexcept { present_.fetch_add(1, std::memory_order_relaxed); }
    // Whether it shall yield once more before it counts: some have not begun, and there is time left.
    [[nodiscard]] bool waits() noexcept {
        if (all_have_come()) {
            return false;
        }
        const bool in_time = std::chrono::steady_clock::now() < given_up_;
        if (!in_time) {
            one_gave_up_.store(true, std::memory_order_relaxed);
        }
        return in_time;
    }
    // All began before any gave up: where a yield does nothing they come after it, one by one.
    [[nodiscard]] bool complete() const noexcept {
        return all_have_come() && !one_gave_up_.load(std::memory_order_relaxed);
    }

private:
    [[nodiscard]] bool all_have_come() const noexcept { return present_.load(std::memory_order_relaxed) == tasks_; }

    std::uint64_t tasks_;
    std::atomic<std::uint64_t> present_{0};
    std::atomic<bool> one_gave_up_{false};
    // A thread that has yet to make the others may be kept from its CPU for long.
    std::chrono::steady_clock::time_point given_up_ = std::chrono::steady_clock::now() + std::chrono::seconds{5};
};

// How long the sleepers of timer_storm sleep, and what they answer.
class storm {
public:
    using clock = std::chrono::steady_clock;

    explicit storm(const request& r);

    [[nodiscard]] std::uint64_t sleepers() const noexcept { return sleepers_; }
    [[nodiscard]] std::chrono::microseconds length(std::uint64_t sleeper) const noexcept;
    // The answer of a sleeper that woke just now: its length in microseconds, or nothing if that is early.
    [[nodiscard]] static std::uint64_t woke(clock::time_point began, std::chrono::microseconds length) noexcept;

private:
    std::uint64_t sleepers_;
    std::uint64_t shortest_us_;
    std::uint64_t span_us_;
};

}  // namespace harness
