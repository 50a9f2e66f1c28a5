// A round of fairness as its two sides see it: the background job that begins, and the maker that makes children until
// then. And what a child does.
#pragma once

#include "harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

namespace harness {

// After which a job of the kind `timer` is due.
inline constexpr std::chrono::milliseconds fairness_delay{1};

class fair_round {
public:
    // The job waits from now on, or from a moment of the future. Said by who starts it, before it can begin.
    void due_in(std::chrono::nanoseconds delay) noexcept { due_ = clock::now() + delay; }
    // All that the background job does. The round may be gone afterwards.
    void begin_job() noexcept {
        waited_ = clock::now() - due_;
        begun_.store(true);
    }
    [[nodiscard]] bool job_has_begun() const noexcept { return begun_.load(); }
    // The wait of a job that has begun; negative: it began before it was due.
    [[nodiscard]] std::chrono::nanoseconds waited() const noexcept { return waited_; }

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
    clock::time_point due_ = clock::now();
    std::chrono::nanoseconds waited_{0};
    std::uint64_t children_ = 0;
    std::atomic<bool> begun_{false};  // true: the job runs or has run; stays so
};

// The rounds of a run, as the maker does them: it starts a job, makes children while the round goes on, and says that
// the round is over when no job can touch it any more.
class fair_rounds {
public:
    explicit fair_rounds(const request& r)
        : kind_{r.choice("waits", {"fork", "timer", "injected"})},
          jobs_{r.integer("jobs")},
          step_{r.integer("step_us")} {}

    [[nodiscard]] bool is_timer() const noexcept { return kind_ == "timer"; }
    [[nodiscard]] bool is_injected() const noexcept { return kind_ == "injected"; }
    [[nodiscard]] std::chrono::microseconds step() const noexcept { return step_; }

    void begin() noexcept {
        fair_ = 0;
        starved_ = false;
    }
    [[nodiscard]] bool go_on() const noexcept { return fair_ < jobs_ && !starved_; }
    void end_round(const fair_round& round, bool in_time, stopwatch& watch) {
        starved_ = !in_time || round.waited().count() < 0;
        if (!starved_) {
            ++fair_;
            watch.item_took(round.waited());
        }
    }
    // How many jobs began in time.
    [[nodiscard]] std::uint64_t fair() const noexcept { return fair_; }

private:
    std::string kind_;
    std::uint64_t jobs_;
    std::chrono::microseconds step_;
    std::uint64_t fair_ = 0;
    bool starved_ = false;
};

// A thread that is not of the runtime, and starts the job of a round when the maker asks it to.
class outsider {
public:
    // `start(fair_round&)` starts it.
    template <typename Start>
    explicit outsider(Start start)
        : thread_{[this, start = std::move(start)]() mutable {
              for (asked_.acquire(); round_ != nullptr; asked_.acquire()) {
                  fair_round& round = *round_;
                  round.due_in(std::chrono::nanoseconds{0});
                  start(round);
              }
          }} {}
    outsider(const outsider&) = delete;
    outsider& operator=(const outsider&) = delete;
    ~outsider() {
        round_ = nullptr;
        asked_.release();
        thread_.join();
    }

    void ask(fair_round& round) noexcept {
        round_ = &round;
        asked_.release();
    }

private:
    fair_round* round_ = nullptr;  // written before asked_ is released
    std::counting_semaphore<> asked_{0};
    std::thread thread_;
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
