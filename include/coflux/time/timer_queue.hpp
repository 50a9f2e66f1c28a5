// The timers of one thread: a wheel that only this thread touches, and a mailbox for what other threads take out of it.
//
// The page docs/design/time.md has the states of a timer and every pair of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/thread_state.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/timing_wheel.hpp>

namespace coflux::detail {

class timer;

/// What a kind of timer does. Called at most once, and one of the two only.
struct timer_kind {
    /// Its time has come, and nobody has taken it. On the thread of its queue; resumes nobody in place. The timer may be gone
    /// afterwards.
    void (*due)(timer& t) noexcept;
    /// It was taken, and is out of its queue now. As above.
    void (*left)(timer& t) noexcept;
};

/// Something with a deadline; the base of what sleeps and of what limits.
class timer : public timer_node {
public:
    /// Takes it before its time: true if that comes first, and then who called gives it to timer_queue::remove() once.
    /// Threads: any, while the timer is known to live.
    [[nodiscard]] bool take() noexcept { return decide(taken); }

    /// Where it is armed; nullptr: with the timer service.
    [[nodiscard]] timer_queue* queue() const noexcept { return queue_; }

protected:
    explicit timer(const timer_kind& kind) noexcept : kind_(&kind) {}
    ~timer() = default;

    /// From now on it may be taken. The thread of `queue` inserts it next.
    void ready_for(timer_queue& queue) noexcept {
        queue_ = &queue;
        state_.store(armed, memory_order_relaxed);  // published by what makes the timer known to others
    }

private:
    friend class timer_queue;
    friend class timer_service;

    /// The deadline and whoever takes the timer race for it.
    ///   idle    not armed yet
    ///   armed   in its queue, or about to be inserted by the queue's thread
    ///   fired   its time came first: kind.due is called
    ///   taken   somebody was earlier: kind.left is called, as soon as it is out of the queue
    /// relaxed: the word decides and hands nothing on. What the winner did travels with the mail, with the executor's queue, or
    /// under the service's lock.
    enum state : std::uint32_t { idle, armed, fired, taken };

    [[nodiscard]] bool decide(state to) noexcept {
        std::uint32_t expected = armed;
        return state_.compare_exchange_strong(expected, to, memory_order_relaxed, memory_order_relaxed);
    }

    atomic<std::uint32_t> state_{idle};
    timer_queue* queue_ = nullptr;
    timer* next_mail_ = nullptr;  // in the mailbox; written by who took the timer
    const timer_kind* kind_;
};

/// The timers of the coroutines of one executor on one of its threads.
///
/// Threads: the owner's, but for remove(). Costs: no allocation; 16 KB.
/// Lifetime: outlives its timers, which is checked; waits in its destructor for remove() on other threads.
class timer_queue {
public:
    /// `executor` is the identity of the executor whose coroutines it serves; `wake(owner)` ends the owner's sleep, from any
    /// thread.
    timer_queue(const void* executor, void* owner, void (*wake)(void* owner) noexcept) noexcept
        : wheel_(tick_now()),
          executor_(executor),
          owner_(owner),
          wake_(wake) {}
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;
    ~timer_queue();

    /// This thread's queue, if it serves coroutines of `e`. One of another executor may outlive this thread: then nullptr.
    [[nodiscard]] static COFLUX_INLINE timer_queue* of_thread_for(const executor_entry* e) noexcept {
        timer_queue* const q = this_thread.timers;
        return q != nullptr && e != nullptr && e->identity == q->executor_ ? q : nullptr;
    }

    /// Inserts `t`, which is ready_for() this queue.
    COFLUX_INLINE void insert(timer& t, clock_tick deadline) noexcept { wheel_.insert(t, deadline); }

    /// Takes `t` out, then calls its kind's `left`: here if this is its thread, else there, soon. Threads: any. Pre: it
    /// was taken by the caller.
    void remove(timer& t) noexcept;
    /// The same without haste: a sleeping owner is not woken for it.
    void remove_lazily(timer& t) noexcept;

    /// The present, as it was at the last look.
    [[nodiscard]] clock_tick now() const noexcept { return wheel_.now(); }
    /// True if a look can find nothing, now or later, until something is armed or mailed.
    [[nodiscard]] COFLUX_INLINE bool nothing_to_look_at() const noexcept {
        return wheel_.empty() && mail_ == nullptr && !has_mail();
    }
    /// Hands out what is due at `now` and what was mailed, up to a portion. Returns how many coroutines and limits that were.
    std::size_t look(clock_tick now) noexcept;
    /// Nothing is due before; 0 if a portion was left over.
    [[nodiscard]] clock_tick next_deadline() const noexcept { return mail_ != nullptr ? 0 : wheel_.next_deadline(); }

    /// The same in parts, for an owner who decides about each timer: what was mailed; the present; one that is due, or false.
    void look_at_mail() noexcept { (void)hand_out_mail(~std::size_t{0}); }
    void pass_to(clock_tick now) noexcept { wheel_.expire(now); }
    bool hand_out_one() noexcept { return hand_out_due(1) != 0; }
    /// As if it were made anew. Pre: nothing to look at.
    void restart(clock_tick now) noexcept { wheel_.restart(now); }

    /// The owner is about to sleep: from now on mail wakes it. True if it must not, for there is some already.
    [[nodiscard]] bool falls_asleep() noexcept {
        asleep_.store(true, memory_order_seq_cst);  // before the look at the mailbox; pairs with remove()
        return mailbox_.load(memory_order_seq_cst) != nullptr;
    }
    void wakes_up() noexcept { asleep_.store(false, memory_order_relaxed); }  // at worst one needless wake-up

    /// How many timers one look hands out: less than the coroutines that run until the next, so that those do not pile up.
    static constexpr std::size_t portion = 48;

private:
    [[nodiscard]] COFLUX_INLINE bool has_mail() const noexcept {
        return mailbox_.load(memory_order_relaxed) != nullptr;  // a hint; the exchange in look() is the real thing
    }
    void post(timer& t) noexcept;
    void collect_mail() noexcept;
    std::size_t hand_out_mail(std::size_t most) noexcept;
    std::size_t hand_out_due(std::size_t most) noexcept;

    timing_wheel wheel_;
    const void* executor_;
    void* owner_;
    void (*wake_)(void*) noexcept;
    timer* mail_ = nullptr;  // collected and not yet handled, in the order of their posting
    // The youngest of a stack of timers that were taken. Pushed by CAS (release: what the poster did), emptied as a whole by
    // exchange (acquire), so that no element's place is reused under a pusher. seq_cst with asleep_: either the owner sees the
    // mail, or the poster sees that it sleeps.
    alignas(cache_line) atomic<timer*> mailbox_{nullptr};
    // false: the owner looks at its mailbox by itself, or is being woken; true: it must be woken. Set by the owner, cleared by
    // it or by who wakes it.
    atomic<bool> asleep_{false};
    atomic<std::uint32_t> posting_{0};  // threads of others inside remove()
};

}  // namespace coflux::detail
