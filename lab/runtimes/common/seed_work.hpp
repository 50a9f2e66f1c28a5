// The tasks of the seed documents' workloads, and their answers: the same compiled code in every C++
// adapter.
#pragma once

#include "harness.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace harness {

using wait_clock = std::chrono::steady_clock;

// Reads /dev/zero, a kilobyte at a time, until `wait` is over: the wait of EvaluateIPC that burns its thread's time.
void read_zeros_for(std::chrono::microseconds wait);

// The part that a wait which began then and ends now adds to the answer of `wait`: its length, or nothing where it was
// too short.
[[nodiscard]] std::uint64_t waited(wait_clock::time_point began, std::chrono::microseconds wait) noexcept;

// The function of the seed document, on floating-point numbers and by double recursion. The optimiser cannot see where
// n comes from.
[[nodiscard]] std::uint64_t fib_by_recursion(std::uint64_t n);

// The shape of fib_tasks. The document's threads are held until all are made.
[[nodiscard]] inline std::string shape_of(const request& r) {
    return r.choice("shape", {"sequential", "thread", "held_thread", "coroutine", "generator"});
}

// One record of record_path. The key is spread over the partitions as the document's coordinator does it.
struct record {
    std::uint64_t number;

    [[nodiscard]] std::size_t partition(std::size_t partitions) const noexcept;
};

using record_batch = std::vector<record>;

// The numbers of a request for record_path.
struct record_work {
    explicit record_work(const request& r);
    record_work(std::uint64_t all, std::uint64_t each, std::uint64_t into, std::uint64_t work) noexcept
        : records{all},
          batch{each},
          partitions{into},
          steps{work} {}

    std::uint64_t records;
    std::uint64_t batch;
    std::uint64_t partitions;
    std::uint64_t steps;

    [[nodiscard]] std::uint64_t batches() const noexcept { return (records + batch - 1) / batch; }
    // The batch that the reader gives as number `index`, counted from 0.
    [[nodiscard]] record_batch read(std::uint64_t index) const;
};

// It makes a result of each record, some 5 us for 4 000 steps. Not for two threads at once.
class engine {
public:
    explicit engine(const record_work& work) : steps_{work.steps} {}

    void process(record r) noexcept;
    void process(std::span<const record> batch) noexcept;
    // The sum of the results.
    [[nodiscard]] std::uint64_t answer() const noexcept { return sum_; }

private:
    std::uint64_t steps_;
    std::uint64_t sum_ = 0;
};

// A batch puts its records where they belong; the vectors are the queue's own, so they are new each time.
[[nodiscard]] std::vector<record_batch> routed(const record_batch& batch, std::size_t partitions);

// A batch of partition_receiver on its way.
struct dispatched {
    std::uint64_t number;
    wait_clock::time_point sent;
};

[[nodiscard]] inline dispatched dispatch_now(std::uint64_t number) noexcept {
    return {.number = number, .sent = wait_clock::now()};
}

// The batch has come, and this is how long it was on its way.
inline void arrived(stopwatch& watch, const dispatched& batch) {
    const std::chrono::nanoseconds way = wait_clock::now() - batch.sent;
    watch.waits().record(static_cast<std::uint64_t>(way.count()));
}

// The numbers of a request for partition_receiver.
struct partition_work {
    enum class receiver { yields, polls, parks };

    explicit partition_work(const request& r);

    receiver how;
    std::uint64_t batches;
    // After each batch.
    std::uint64_t yields;
    // None: the coordinator yields in place of sleeping.
    std::chrono::microseconds gap;
};

}  // namespace harness
