// Waiters in a row, of which the first may be served when a moment has come: what timer, rate_limiter and delay_queue
// are made of. One alarm for all of them, in the first waiter, that any thread may set.
//
// The page docs/design/time.md has the protocol (Waiters with an alarm).
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timer_queue.hpp>

namespace coflux::detail {

class timed_wait;
class timed_wait_list;

/// The steps of a primitive with an alarm for a waiter. Both are called under the list's lock.
struct timed_kind {
    /// Does what `w` waits for, if that can be done at `now`.
    bool (*serve)(timed_wait_list& of, timed_wait& w, clock_tick now) noexcept;
    /// It cannot: the moment at which it can, or timing_wheel::never where only another operation brings that about.
    clock_tick (*due)(timed_wait_list& of, const timed_wait& w) noexcept;
};

/// The waiters of one primitive, first come, first served.
///
/// Threads: any.
/// Costs: no allocation. The process's thread for timers starts with the first wait.
/// Lifetime: outlives its waiters, which its owner checks by is_awaited().
class timed_wait_list {
public:
    explicit timed_wait_list(const timed_kind& kind) noexcept : kind_(kind) {}
    timed_wait_list(const timed_wait_list&) = delete;
    timed_wait_list& operator=(const timed_wait_list&) = delete;

    [[nodiscard]] bool is_awaited() const noexcept { return !queue_.empty(); }

protected:
    ~timed_wait_list() = default;

    /// `change(now)` under the lock. Before it and after it the waiters that can be served are, and the alarm is set,
    /// so no waiter whose moment has come loses it to the change. Gives what `change` gives.
    template <typename Change>
    auto changed(Change change) noexcept {
        wait_chain served;
        const clock_tick now = tick_now();
        lock_.lock();
        settle(now, served);
        auto result = change(now);
        settle(now, served);
        lock_.unlock();  // the last access: a waiter that is served may destroy the primitive
        served.wake();
        return result;
    }

    /// Guards the queue, the alarm, and what the primitive serves from.
    mutable adaptive_lock lock_;

private:
    friend class timed_wait;

    bool serve_first(timed_wait& w, clock_tick now) noexcept;
    bool serve_or_queue(timed_wait& w, clock_tick now) noexcept;
    void settle(clock_tick now, wait_chain& served) noexcept;
    void take_out_front(wait_chain& served) noexcept;
    void set_alarm(timed_wait& front, clock_tick at, bool goes_on) noexcept;

    const timed_kind& kind_;
    wait_queue queue_;
    timed_wait* alarm_ = nullptr;  // the front of the queue, if its timer is armed or is being handed out
    clock_tick alarm_at_ = 0;      // when that comes due
};

/// One wait in such a list, and the base of its awaiter.
class timed_wait : public wait_operation, public timer {
public:
    [[nodiscard]] bool await_ready() noexcept;
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);

protected:
    timed_wait(promise_base& p, timed_wait_list& of, const wait_kind& kind) noexcept
        : wait_operation(p, kind),
          timer(how_it_ends),
          of_(of) {}
    ~timed_wait() = default;

    /// First thing of await_resume.
    COFLUX_INLINE void resumed() noexcept {
        wait_operation::resumed();
        progress_ = wait_progress::none;
    }
    /// For destructors, as wait_operation::is_unresumed(): true if it was served, and resumed() was not called.
    COFLUX_INLINE bool is_unresumed() noexcept {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (progress_ != wait_progress::none) [[unlikely]]
                return progress_ != wait_progress::waited || wait_operation::is_unresumed();
        }
        return false;
    }

    // The wait_kind of a timed_wait calls these.
    static bool claim(wait_operation& w) noexcept;
    static void stop(wait_operation& w) noexcept;
    static constexpr std::size_t of_at = sizeof(wait_operation) + sizeof(timer);

private:
    friend class timed_wait_list;

    /// Where a waiter has left the queue while its timer is being handed out: two parties have to be done with it.
    enum class leaving : std::uint8_t {
        no,          ///< in the queue, or its timer is at rest
        served,      ///< the thread with the timer wakes it
        claimed,     ///< by a stop request, which has not come to stop() yet
        stop_came,   ///< stop() has come: the thread with the timer wakes it, as stopped
        alarm_came,  ///< the thread with the timer has come: stop() wakes it
    };

    static void come_due(timer& t) noexcept;
    static const environment& whose(const timer& t) noexcept;
    static const timer_kind how_it_ends;

    timed_wait_list& of_;            // first, as of_at says
    leaving leaving_ = leaving::no;  // guarded by the list's lock
    wait_progress progress_ = wait_progress::none;
};

}  // namespace coflux::detail
