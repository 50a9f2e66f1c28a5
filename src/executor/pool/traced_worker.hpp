// A worker of a pool that traces all. The page docs/design/trace.md has the protocol.
#pragma once

#include <cstdint>
#include <utility>

#include <coflux/base/atomic.hpp>

#include "inspect/trace/trace_rings.hpp"
#include "pool_worker.hpp"

namespace coflux::detail {

/// The fast paths of the core have two tests that lead to the worker: whether another one sleeps, and whether the tick
/// budget is used up. Here both always do, and so it sees what is pushed, and what an await takes.
class traced_worker final : public pool_worker {
public:
    traced_worker(thread_pool& pool, std::size_t position, const worker_places& places)
        : pool_worker(pool, position, places, always_one_sleeper) {}

private:
    static constinit const atomic<std::uint32_t> always_one_sleeper;

    void begin_step() noexcept override {
        pushed_ready_ = ready_.pushed();
        lay_aside();
    }
    void end_step() noexcept override { take_back(); }
    std::uint64_t glance_at_steps() const noexcept override { return glance_at(round(), aside_); }
    void notify_one() noexcept override {
        note_push();
        if (has_sleepers()) pool_worker::notify_one();
    }
    void notify_of_lone() noexcept override {
        note_push();
        if (has_sleepers()) pool_worker::notify_of_lone();
    }
    bool budget_exhausted() noexcept override {
        if (!is_aside_) return pool_worker::budget_exhausted();
        take_back();
        const bool stops = --tick_budget_ < 0 && pool_worker::budget_exhausted();
        // The youngest may have gone long ago: the cell is as it was.
        // [trace.takes_child]
        if (!stops && forks_.size() != 0) trace_coroutine(*trace(), trace_kind::takes_child, forks_.youngest());
        lay_aside();
        return stops;
    }
    bool others_are_due() noexcept override {
        if (!is_aside_) return pool_worker::others_are_due();
        take_back();
        const bool due = pool_worker::others_are_due();
        lay_aside();
        return due;
    }
    bool spend_tick_aside() noexcept override {
        if (!is_aside_ || aside_ <= 0) return false;
        ++spent_;
        return --aside_ > 0;
    }

    void lay_aside() noexcept {
        aside_ = std::exchange(tick_budget_, 0);
        is_aside_ = true;
    }
    void take_back() noexcept {
        tick_budget_ = aside_;
        is_aside_ = false;
    }
    /// The worker has pushed to one of its queues.
    void note_push() noexcept {
        const bool is_ready = std::exchange(pushed_ready_, ready_.pushed()) != ready_.pushed();
        if (trace() == nullptr) return;
        trace_coroutine(*trace(), is_ready ? trace_kind::wakes : trace_kind::forks,
                        is_ready ? ready_.last() : forks_.youngest());
    }

    std::uint64_t pushed_ready_ = 0;
    std::int32_t aside_ = 0;  // what is left of the budget while tick_budget_ is 0
    bool is_aside_ = false;   // while a coroutine runs, and it is traced
};

inline constinit const atomic<std::uint32_t> traced_worker::always_one_sleeper{1};

}  // namespace coflux::detail
