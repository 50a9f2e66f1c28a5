// A round of fairness as its two sides see it: the background job that begins, and the maker that makes children until
// then. And what a child does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace harness {

class fair_round {
public:
    // All that the background job does.
    void begin_job() noexcept { begun_.store(true); }
    [[nodiscard]] bool job_has_begun() const noexcept { return begun_.load(); }

    // Whether the maker makes one more child: until the job has begun, and for two seconds at most.
    [[nodiscard]] bool goes_on() noexcept {
        if (job_has_begun()) {
            return false;
        }
        // A reading of the clock can be as dear as a child, so that most children go without.
        return ++children_ % 64 != 0 || clock::now() < gives_up_;
    }

private:
    using clock = std::chrono::steady_clock;

    clock::time_point gives_up_ = clock::now() + std::chrono::seconds{2};
    std::uint64_t children_ = 0;
    std::atomic<bool> begun_{false};  // true: the job runs or has run; stays so
};

// All that a child does.
inline void compute_for(std::chrono::microseconds step) noexcept {
    using clock = std::chrono::steady_clock;
    if (step.count() == 0) {
        return;
    }
    for (const auto end = clock::now() + step; clock::now() < end;) {}
}

}  // namespace harness
