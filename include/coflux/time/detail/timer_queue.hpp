// The timers of one thread's coroutines: a wheel under a lock, so that another thread may take a timer out, or hand out
// what its owner has no time for.
//
// The page docs/design/time.md has the states of a timer and every pair of threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timer_counts.hpp>
#include <coflux/time/detail/timing_wheel.hpp>

namespace coflux::detail {

class timer;
class timer_watch;
enum class wait_attempt : std::uint8_t;
class wait_operation;

/// The steps of a kind of timer, and its name in messages.
struct timer_kind {
    /// The time of `t` has come, and it was not taken. On the thread that looks at its queue; resumes no coroutine in
    /// place. The timer may be gone afterwards.
    void (*due)(timer& t) noexcept;
    /// For messages: the coroutine, or the environment, that it is for, and what that does.
    const environment& (*whose)(const timer& t) noexcept;
    const char* what;
};

/// Something with a deadline; the base of what sleeps and of what limits.
///
///     at rest --armed--> in a wheel --its deadline is first--> at rest, and due() is called, once
///                          |
///                          +--it is taken first--> at rest
///
/// The lock of the queue, or of the timer service, decides between the two ends: the thread that gets the timer out of
/// the wheel has won.
class timer : public timer_node {
public:
    /// Where it is armed; nullptr: with the timer service.
    [[nodiscard]] timer_queue* queue() const noexcept { return queue_; }
    [[nodiscard]] const timer_kind& kind() const noexcept { return *kind_; }
    /// Takes it out before its time: true if that comes first, and then due() is not called.
    /// Pre: it was armed.
    [[nodiscard]] bool disarm() noexcept;

protected:
    explicit timer(const timer_kind& kind) noexcept : kind_(&kind) {}
    ~timer() = default;

    /// It will be armed in `queue`. Before another thread knows it.
    void set_queue(timer_queue& queue) noexcept { queue_ = &queue; }
    /// Chooses where it is armed: with the timers of this thread, if that runs coroutines of `e`, else with the timer
    /// service. Before another thread knows it. Gives the present, as the place knows it.
    clock_tick choose_queue(const executor_entry* e) noexcept;
    /// From now on it can be armed.
    /// Errors: std::system_error, if the service's thread cannot be had.
    void prepare();
    /// Arms it. `goes_on`: the coroutine that runs here is not about to suspend, and may keep this thread from its
    /// timers.
    /// Pre: prepare() was called.
    void arm(clock_tick deadline, bool goes_on) noexcept;
    /// Arms it for the wait `w`, which has begun, unless that must stop. The coroutine suspends; the timer may be gone.
    /// Errors: as prepare().
    [[nodiscard]] wait_attempt arm_for(wait_operation& w, clock_tick deadline);

private:
    friend class timer_queue;
    friend class timer_service;

    timer_queue* queue_ = nullptr;
    const timer_kind* kind_;
};

/// When a limit ends: at a moment, or so long after its await has begun (of I/O: the wait in it).
struct limit_time {
    clock_tick ticks;
    bool from_the_wait;

    [[nodiscard]] clock_tick after(clock_tick begun) const noexcept {
        constexpr clock_tick end_of_time = timing_wheel::never / 2;  // of the steady clock
        if (!from_the_wait) return ticks;
        return ticks < end_of_time - begun ? begun + ticks : end_of_time;
    }
    /// Where its await begins.
    [[nodiscard]] clock_tick from_now() const noexcept { return from_the_wait ? after(tick_now()) : ticks; }
};
/// A duration that is not positive has passed.
template <typename Rep, typename Period>
[[nodiscard]] constexpr limit_time limit_of(std::chrono::duration<Rep, Period> d) noexcept {
    if (!(d > d.zero())) return {0, false};
    return {static_cast<clock_tick>(rounded_up(d).count()), true};
}
template <typename Clock, typename Duration>
[[nodiscard]] limit_time limit_of(std::chrono::time_point<Clock, Duration> t) noexcept {
    return {tick_of(on_steady_clock(t)), false};
}

/// A limit that most often does not come: its owner arms it a little later, if it is still needed.
class deferred_timer : public timer {
protected:
    deferred_timer(const timer_kind& kind, limit_time end) noexcept : timer(kind), end_(end) {}

    [[nodiscard]] const limit_time& end() const noexcept { return end_; }

private:
    friend class timer_queue;
    struct links {
        [[nodiscard]] static deferred_timer*& next(deferred_timer& of) noexcept { return of.next_; }
        [[nodiscard]] static deferred_timer*& previous(deferred_timer& of) noexcept { return of.previous_; }
    };

    const limit_time end_;
    deferred_timer* next_ = nullptr;
    deferred_timer* previous_ = nullptr;  // nullptr: it is not deferred
};

/// The timers of the coroutines that one thread of an executor runs. That thread is called the owner.
///
/// Threads: any, but where a function says the owner's.
/// Costs: no allocation; 16 KB.
/// Lifetime: outlives its timers, which is checked.
class timer_queue {
public:
    /// `watch` looks after it while the owner runs coroutines, from notify_watch() on; nullptr: nothing does.
    /// `defers_for`: the identity of an executor that has one thread, the owner, which calls arm_deferred().
    explicit timer_queue(timer_watch* watch = nullptr, const void* defers_for = nullptr) noexcept
        : wheel_(tick_now()),
          watch_(watch),
          defers_for_(defers_for) {
        seen_.store(wheel_.now(), memory_order_relaxed);  // pairs with nothing: published with the queue
    }
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;
    ~timer_queue();

    /// This thread's queue, if the thread runs coroutines of `e` at present. One of another executor may outlive this
    /// thread: then nullptr.
    [[nodiscard]] static COFLUX_INLINE timer_queue* of_thread_for(const executor_entry* e) noexcept {
        const thread_state& t = this_thread;
        return e != nullptr && t.serves(e->identity) ? t.timers : nullptr;
    }

    /// The present, as that queue knows it, or by the clock.
    [[nodiscard]] static clock_tick present_for(const executor_entry* e) noexcept {
        const timer_queue* const own = of_thread_for(e);
        return own != nullptr ? own->now() : tick_now();
    }

    /// Arms `t`, whose choose_queue() chose this queue, unless `refused()`, which is asked under the lock that take()
    /// holds. Returns whether it is armed; then it may be gone already.
    /// Threads: the owner's.
    template <typename Refused>
    COFLUX_INLINE bool arm(timer& t, clock_tick deadline, Refused refused) noexcept {
        // [timer_queue.arm.lock]
        const adaptive_guard held(lock_);
        // [timer_queue.arm.refused]
        if (refused()) return false;
        wheel_.insert(t, deadline);
        counts_.add_armed();
        // seq_cst: before a look at what the watch knows; pairs with its look at next_ (timer_watch.hpp).
        // [timer_queue.arm.next]
        if (deadline < next_.load(memory_order_relaxed)) next_.store(deadline, memory_order_seq_cst);
        return true;
    }
    COFLUX_INLINE void arm(timer& t, clock_tick deadline) noexcept {
        (void)arm(t, deadline, []() noexcept { return false; });
    }

    // The owner's limits that it has not armed yet. An operation that ends before costs no reading of the clock, and no
    // lock.
    /// True for coroutines that go on on the owner's thread alone. Those of a strand on it may go on anywhere.
    [[nodiscard]] bool defers_for(const executor_entry* e) const noexcept {
        return defers_for_ != nullptr && identity_of(e) == defers_for_;
    }
    /// Pre: choose_queue() of `t` chose this queue, which defers_for() its coroutine.
    void defer(deferred_timer& t) noexcept { deferred_.push_back(t); }
    /// True: it was not armed yet, and will not be.
    [[nodiscard]] bool forget(deferred_timer& t) noexcept { return deferred_.remove(t); }
    [[nodiscard]] bool has_deferred() const noexcept { return !deferred_.empty(); }
    /// Arms them, as if their waits began now.
    void arm_deferred(clock_tick now) noexcept;

    /// Takes `t` out before its time: true if that comes first, and then due() is not called.
    /// Pre: `t` lives, and belongs to this queue.
    [[nodiscard]] COFLUX_INLINE bool take(timer& t) noexcept {
        // [timer_queue.take.lock]
        const adaptive_guard held(lock_);
        if (!wheel_.cancel(t)) return false;
        counts_.add_cancelled();
        if (t.deadline() <= next_.load(memory_order_relaxed)) publish_next();
        return true;
    }

    /// The present, as it was at the last look.
    [[nodiscard]] clock_tick now() const noexcept { return seen_.load(memory_order_relaxed); }  // pairs with nothing
    /// Nothing is due before; timing_wheel::never if nothing is armed. To threads other than the owner a hint.
    [[nodiscard]] COFLUX_INLINE clock_tick next_deadline() const noexcept {
        return next_.load(memory_order_relaxed);  // a thread that looks because of it takes the lock
    }
    [[nodiscard]] COFLUX_INLINE bool nothing_to_look_at() const noexcept {
        return next_deadline() == timing_wheel::never;
    }
    /// Counts those that were armed: not those that the owner has deferred and not armed.
    [[nodiscard]] const timer_counts& counts() const noexcept { return counts_; }
    /// Hands out what is due at `now`, up to a portion. Returns how many coroutines and limits that were.
    std::size_t look(clock_tick now) noexcept;
    /// look() for a thread other than the owner's: 0 if another one is looking at this moment.
    std::size_t look_for_owner(clock_tick now) noexcept;

    /// look() in parts, for an owner that decides about each timer: pass_to() sets the present; hand_out_one() hands
    /// out one that is due, or gives false.
    void pass_to(clock_tick now) noexcept;
    bool hand_out_one() noexcept;
    /// The executor ends: `f(const timer&)` for each that is still armed, and disarmed by that, for the check that
    /// fails then.
    /// Pre: no other thread uses the queue.
    template <typename F>
    void take_left(F f) noexcept {
        wheel_.expire(timing_wheel::never);
        while (auto* const t = static_cast<timer*>(wheel_.take())) f(static_cast<const timer&>(*t));
    }
    /// The armed timers are another process's: this is the copy that fork() made of its queue, and ends.
    void abandon() noexcept { wheel_.abandon(); }
    /// As if it were made anew.
    /// Pre: nothing to look at.
    void restart(clock_tick now) noexcept {
        wheel_.restart(now);
        seen_.store(now, memory_order_relaxed);  // pairs with nothing
    }

    /// The owner will run something that may take its time: from now on the watch knows of the next deadline.
    /// Threads: the owner's.
    /// Costs: a load, unless the watch has to be woken.
    COFLUX_INLINE void notify_watch() noexcept {
        if (watch_ != nullptr && next_deadline() != timing_wheel::never) notify_watch_aside();
    }
    /// Notifies the watch as notify_watch() does, if something else is queued at the owner, or is below on its
    /// stack.
    COFLUX_INLINE void notify_watch_if_busy() noexcept {
        if (watch_ != nullptr) notify_watch_if_busy_aside();
    }

    /// The owner parks, until the next deadline at the latest: it needs no watch.
    /// Threads: the owner's.
    void prepare_park() noexcept { owner_sleeps_.store(true, memory_order_relaxed); }  // at worst a look for nothing
    // [timer_queue.end_park]
    void end_park() noexcept { owner_sleeps_.store(false, memory_order_seq_cst); }  // before notify_watch()
    /// The first moment at which the owner should have handed something out: the watch asks.
    [[nodiscard]] clock_tick watched_deadline() const noexcept {
        // seq_cst, both: after the watch said when it looks again, and before it does; pairs with end_park() and arm().
        // [timer_queue.watched_deadline.sleeps]
        if (owner_sleeps_.load(memory_order_seq_cst)) return timing_wheel::never;
        // [timer_queue.watched_deadline.next]
        return next_.load(memory_order_seq_cst);
    }

    /// How many timers one look hands out: less than the coroutines that run until the next, so that those do not pile
    /// up.
    static constexpr std::size_t portion = 48;

private:
    std::size_t hand_out_locked(clock_tick now) noexcept;
    COFLUX_ASIDE void notify_watch_if_busy_aside() noexcept;
    COFLUX_ASIDE void notify_watch_aside() noexcept;

    /// Pre: the lock is held.
    void publish_next() noexcept {
        next_.store(wheel_.next_deadline(), memory_order_relaxed);  // later than before: at worst a look for nothing
    }

    adaptive_lock lock_;  // guards wheel_, and with it each timer's position; next_ is written under it
    timer_counts counts_;
    timing_wheel wheel_;
    timer_watch* const watch_;
    const void* const defers_for_;
    intrusive_queue<deferred_timer, deferred_timer::links> deferred_;  // the owner's
    // No timer is due before this tick; never: none is armed. Lowered by the owner (seq_cst, see arm()), raised by the
    // thread that looks or takes.
    atomic<clock_tick> next_{timing_wheel::never};
    atomic<clock_tick> seen_{0};        // the present of the last look
    atomic<bool> owner_sleeps_{false};  // true: the owner is parked, and wakes by itself for what is due
};

}  // namespace coflux::detail
