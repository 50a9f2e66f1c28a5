// Coroutines that other threads give to an executor that runs one at a time, and whether it must be woken for them.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// A queue of many pushers and one taker at a time, first in, first out.
///
///     attended --rest() finds nothing--> at rest --push()--> attended, and the pusher rouses the taker
///                                          +--attend(): the taker came by itself--> attended
///
/// A pusher that must rouse may be counted until it calls roused(), so that what it rouses is not destroyed meanwhile.
/// Every other pusher is done with the queue when the taker can see what it pushed.
class intake {
public:
    intake() = default;
    intake(const intake&) = delete;
    intake& operator=(const intake&) = delete;

    /// Any thread. True: the taker is at rest, and the caller rouses it. If `counted`, it calls roused() then.
    [[nodiscard]] bool push(std::coroutine_handle<> h, bool counted) noexcept {
        // [intake.push.lock]
        lock_.lock();
        while (pushed_.size() == pushed_.capacity()) [[unlikely]]
            grow();
        pushed_.push_back(h);
        // [intake.push.hint]
        some_.store(true, memory_order_relaxed);  // a hint; the lock orders the rest
        // [intake.push.rouses]
        const bool rouse = std::exchange(rests_, false);
        // [intake.push.counts]
        rousing_ += rouse && counted ? 1U : 0U;
        lock_.unlock();
        return rouse;
    }
    /// As a pusher that rouses, though it pushes nothing: it calls roused() then.
    void begin_to_rouse() noexcept {
        const adaptive_guard held(lock_);
        // [intake.begin_to_rouse.counts]
        ++rousing_;
    }
    void roused() noexcept {
        // [intake.roused.lock]
        const adaptive_guard held(lock_);
        --rousing_;
    }

    // The taker's thread:

    /// The oldest; nullptr if there is none in sight.
    [[nodiscard]] std::coroutine_handle<> take() noexcept {
        if (next_ == taken_.size()) {
            if (!some_.load(memory_order_relaxed)) return nullptr;  // before it rests the taker looks under the lock
            refill();
        }
        return taken_[next_++];
    }
    /// A coroutine that was pushed a moment ago may not be in sight.
    [[nodiscard]] bool has_some() const noexcept { return next_ != taken_.size() || some_.load(memory_order_relaxed); }
    /// True: there is nothing, and from now on the next pusher rouses the taker.
    /// Pre: take() found nothing.
    [[nodiscard]] bool rest() noexcept {
        return rest([]() noexcept {});
    }
    /// `then()` is called under the lock if it rests.
    template <typename F>
    [[nodiscard]] bool rest(F then) noexcept {
        // [intake.rest.lock]
        const adaptive_guard held(lock_);
        // [intake.rest.looks]
        rests_ = pushed_.empty();
        if (rests_) then();
        return rests_;
    }
    /// Any thread: `f(rests)` under the lock.
    template <typename F>
    auto with_lock(F f) noexcept {
        // [intake.with_lock.lock]
        const adaptive_guard held(lock_);
        return f(rests_);
    }
    /// How many were pushed that the taker has not taken over yet. Any thread.
    [[nodiscard]] std::size_t pushed() noexcept {
        const adaptive_guard held(lock_);
        return pushed_.size();
    }
    void attend() noexcept {
        const adaptive_guard held(lock_);
        rests_ = false;
    }
    /// The calls that rouse have returned, but for their use of what they rouse.
    void wait_for_rousers() noexcept {
        for (;;) {
            {
                const adaptive_guard held(lock_);
                // [intake.wait_for_rousers.none]
                if (rousing_ == 0) return;
            }
            yield_processor();
        }
    }

private:
    static constexpr std::size_t first_capacity = 16;
    static constexpr std::size_t most_kept = 4096;  // of a burst

    /// Pre: take() has given all of taken_, and there are some.
    COFLUX_NOINLINE void refill() noexcept {
        taken_.clear();
        if (taken_.capacity() > most_kept) taken_ = {};
        next_ = 0;
        // [intake.refill.lock]
        const adaptive_guard held(lock_);
        taken_.swap(pushed_);
        // [intake.refill.hint]
        some_.store(false, memory_order_relaxed);
    }
    /// Pre: the lock is held, as it is afterwards. Memory is allocated without it.
    COFLUX_COLD void grow() noexcept {
        const std::size_t room = pushed_.capacity() == 0 ? first_capacity : pushed_.capacity() * 2;
        lock_.unlock();
        std::vector<std::coroutine_handle<>> bigger;
        try {
            bigger.reserve(room);
        } catch (const std::bad_alloc&) {
            COFLUX_VERIFY(false, "out of memory for %zu queued coroutines", room);
        }
        // [intake.grow.lock]
        lock_.lock();
        if (bigger.capacity() <= pushed_.size()) return;
        bigger.insert(bigger.end(), pushed_.begin(), pushed_.end());
        pushed_.swap(bigger);
    }

    adaptive_lock lock_;                           // guards pushed_, rests_, rousing_
    bool rests_ = true;                            // at rest
    unsigned rousing_ = 0;                         // counted callers that rouse
    std::vector<std::coroutine_handle<>> pushed_;  // oldest first
    atomic<bool> some_{false};                     // pushed_ has some; written under the lock
    // The taker's:
    std::vector<std::coroutine_handle<>> taken_;  // oldest first
    std::size_t next_ = 0;                        // in taken_
};

}  // namespace coflux::detail
