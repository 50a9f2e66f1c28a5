// The computation and the wait of a task of cachecalc and cachecalc_sharded. The cache is the same compiled
// code in every C++ adapter, so that these differ in how they exclude, wait and schedule.
#pragma once

#include "harness.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace harness {

// Ten counters that are strings, by keys that are strings. Nothing in it excludes another thread: that is the runtime's
// part.
class cache {
public:
    // Reads every counter, makes a number of it, and writes one more back.
    void calc();
    // Tells every counter that lost a calculation, and no two such losses are one another's opposite.
    [[nodiscard]] std::uint64_t answer() const;

private:
    std::unordered_map<std::string, std::string> values_;
};

// The numbers of a request for either workload. A round begins with an empty cache and ends with its check.
struct cache_work {
    explicit cache_work(const request& r);

    std::uint64_t rounds;
    std::uint64_t tasks;  // of one cache
    std::chrono::microseconds wait;

    // The floor: what all tasks of one cache compute, one after the other on this thread, without a wait or a lock. The
    // sum of the answers.
    [[nodiscard]] std::uint64_t compute_alone() const;
};

}  // namespace harness
