#pragma once

#include "harness.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <utility>

namespace lab {

// Exactly `threads` threads: the one that calls run() is the first of them.
class workers {
public:
    explicit workers(unsigned threads)
        : limit_{tbb::global_control::max_allowed_parallelism, threads},
          arena_{static_cast<int>(threads)} {}

    template <typename Body>
    std::uint64_t run(Body body) {
        return arena_.execute(body);
    }
    // Any thread may call it.
    template <typename Body>
    void enqueue(Body body) {
        arena_.enqueue(std::move(body));
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

harness::measured fork_pool(const harness::request& r);
harness::measured fork_pool_expert(const harness::request& r);
harness::measured spawn_join(const harness::request& r);
harness::measured spawn_join_expert(const harness::request& r);
harness::measured pipeline(const harness::request& r);
harness::measured pipeline_expert(const harness::request& r);
harness::measured fairness(const harness::request& r);
harness::measured yield(const harness::request& r);
harness::measured fib(const harness::request& r);
harness::measured fib_tasks(const harness::request& r);
harness::measured skynet(const harness::request& r);
harness::measured nqueens(const harness::request& r);
harness::measured matmul(const harness::request& r);
harness::measured matmul_expert(const harness::request& r);
harness::measured channel_spsc(const harness::request& r);
harness::measured channel_mpmc(const harness::request& r);
harness::measured mpsc_batches(const harness::request& r);
harness::measured suspend_chain(const harness::request& r);
harness::measured suspend_chain_expert(const harness::request& r);
harness::measured outside_wake(const harness::request& r);
harness::measured inject(const harness::request& r);
harness::measured latency_under_load(const harness::request& r);
harness::measured memory_after(const harness::request& r);
harness::measured memory_after_expert(const harness::request& r);
harness::measured oversubscribed(const harness::request& r);
harness::measured unbalanced(const harness::request& r);
harness::measured unbalanced_expert(const harness::request& r);

}  // namespace lab
