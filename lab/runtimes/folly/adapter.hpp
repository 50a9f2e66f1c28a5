// The common part of the workloads on Folly: the pool, its coroutines, and a child that is forked to the pool.
#pragma once

#include "harness.hpp"

#include <folly/Try.h>
#include <folly/coro/Baton.h>
#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/Task.h>
#include <folly/executors/CPUThreadPoolExecutor.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace lab {

namespace coro = folly::coro;

using pool = folly::CPUThreadPoolExecutor;

template <typename T>
using task = coro::Task<T>;

// Begins on its executor when it is awaited or started, through the executor's queue. A task alone runs in place of its
// await.
template <typename T>
using forked = coro::TaskWithExecutor<T>;

template <typename T>
forked<T> fork_to(pool& threads, task<T> child) {
    return coro::co_withExecutor(&threads, std::move(child));
}

// Runs one coroutine on the pool to its end, from a thread outside.
template <typename T>
T run(pool& threads, task<T> root) {
    return coro::blockingWait(fork_to(threads, std::move(root)));
}

// The join of the experts: the children are started with a callback, and the last of them wakes the coroutine that
// started them. collectAllRange puts a further coroutine and a token of cancellation around each, and takes more than
// twice the CPU.
class sum_of_children {
public:
    // Exactly so many are started.
    explicit sum_of_children(std::uint64_t children) : pending_{children} {}

    void start(forked<std::uint64_t> child) {
        std::move(child).start([this](folly::Try<std::uint64_t>&& result) {
            sum_.fetch_add(result.value(), std::memory_order_relaxed);  // published by the decrement below
            if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                ended_.post();
            }
        });
    }

    // To be awaited once all are started; then sum() is what they returned.
    [[nodiscard]] coro::Baton& ended() noexcept { return ended_; }
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> pending_;
    std::atomic<std::uint64_t> sum_{0};
    coro::Baton ended_{};
};

// The pool's queue is first in, first out, so it walks a tree in breadth and holds nearly all of it at once. Measured:
// 1 200 to 1 700 bytes for each task.
inline void require_queue_memory(std::uint64_t tasks) {
    constexpr std::uint64_t bytes_per_task = 1'700;
    harness::require_memory(tasks * bytes_per_task, "the tree in the pool's queue");
}

inline std::uint64_t sum_of_all(const std::vector<std::uint64_t>& results) {
    return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

}  // namespace lab
