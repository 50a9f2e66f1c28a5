// mutex: one coroutine at a time.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/sync/detail/ownership.hpp>

namespace coflux {

/// Mutual exclusion for coroutines: `auto guard = co_await m.lock();`. First come, first served: an unlocking coroutine
/// hands the lock to the first waiter.
///
/// Threads: all members from any.
/// Costs: two locked instructions for a lock and unlock without a competitor; never an allocation.
/// Lifetime: outlives its guards and its waiters; the destructor checks that. A coroutine may destroy it as soon as it
/// is the only user, even if the unlock that let it in has not returned.
class mutex {
    class lock_awaiter;
    using lock_request = detail::request<lock_awaiter, mutex&>;

public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() {
        COFLUX_VERIFY(state_.load(detail::memory_order_relaxed) == unlocked,
                      "a mutex was destroyed while it is locked or coroutines wait for it");
    }

private:
    using word = std::uintptr_t;

    /// `held`: the word of a mutex that this owner has locked, without waiters. The guard keeps it, so that the way out
    /// begins with a CAS and not with a load, which would wait for the CAS of the way in.
    COFLUX_INLINE void leave(word held) noexcept {
        // release pairs with the acquire in enter().
        // [stop.mutex.leave]
        if (!state_.compare_exchange_strong(held, unlocked, detail::memory_order_release, detail::memory_order_relaxed))
            [[unlikely]]
            leave_slowly();
    }
    /// The guard may be that of another coroutine from now on. Called by the owner; `held` for the new guard.
    word renew(word held) noexcept {
        if (held != locked) forget_holder();
        return locked;
    }
    void forget_holder() noexcept;

public:
    /// Owns the lock; movable, unlocks in its destructor or by `unlock()`, on any thread. It may be kept across
    /// suspensions: then no other coroutine has the lock while this one waits elsewhere.
    using guard = detail::ownership<mutex, &mutex::leave, std::uintptr_t>;

    /// `co_await lock()`: the lock, as a guard.
    ///
    /// Returns: a guard that owns the lock.
    /// Resumes: on the coroutine's executor, in the order in which they came.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point where it must wait; a coroutine that is stopped has not had the lock.
    [[nodiscard("the mutex is not locked until this is awaited: auto guard = co_await m.lock()")]] lock_request
    lock() noexcept {
        return lock_request(*this);
    }

    /// The lock if it is free.
    /// Returns: a guard, which owns nothing if the lock is taken.
    [[nodiscard]] guard try_lock() noexcept { return guard(enter(want(nullptr)) ? this : nullptr, locked); }

private:
    friend class condition_variable;
    friend guard;
    friend class detail::list_wait<mutex>;
    friend class detail::lazy_wait<mutex>;
    friend class detail::lock_wait<mutex>;
    /// The word of a mutex that `holder` has locked; nullptr: that is not known.
    struct want {
        COFLUX_INLINE explicit want(const detail::promise_base* holder) noexcept
            : held(reinterpret_cast<word>(holder) | locked) {}
        word held;
    };
    static constexpr const char* waits_for = "a mutex";
    static constexpr std::size_t holder_at = 0;

    COFLUX_INLINE guard owned(want as) noexcept { return guard(this, as.held); }
    COFLUX_INLINE bool enter(want of) noexcept {
        word s = unlocked;
        // acquire pairs with the release of the unlocking thread.
        // [stop.mutex.enter]
        return state_.compare_exchange_strong(s, of.held, detail::memory_order_acquire, detail::memory_order_relaxed);
    }
    COFLUX_ASIDE void leave_slowly() noexcept;
    bool take_now(want of) noexcept { return enter(of); }
    // relaxed: pairs with nothing.
    [[nodiscard]] bool is_awaited() const noexcept {
        return (state_.load(detail::memory_order_relaxed) & has_waiters) != 0;
    }
    /// Under the list's lock, for a waiter to be: true if it has the lock; else the mutex has waiters.
    bool ready_or_mark(want) noexcept;
    void unmark() noexcept;
    /// Under the list's lock, by the owner of a mutex that has waiters: the next owner.
    detail::wait_operation& next_owner() noexcept;
    /// Under the list's lock: a stop takes a waiter out. False if it had been woken.
    bool withdraw(detail::wait_operation& w) noexcept;

    // state_      | changed by
    // ------------|-----------------------------------------------------------------------------
    // unlocked    | -> locked: enter(), by CAS, with or without the list's lock
    // locked      | -> unlocked: its owner, by CAS; -> has_waiters too: a waiter to be, by CAS, under the list's lock
    // has_waiters | the queue is not empty; -> locked alone: only under the list's lock, with the last of the queue
    //
    // The rest of the word is the promise of the coroutine that has locked it, for a reader of the memory; null where
    // that is not known. It is the owner's: a hand-over writes it, under the list's lock, and a guard that is moved
    // clears it.
    static constexpr word unlocked = 0;
    static constexpr word locked = 1;
    static constexpr word has_waiters = 2;
    static constexpr word flags = locked | has_waiters;
    detail::atomic<word> state_{unlocked};  // first, as holder_at says
    detail::wait_list waiters_;
};

class [[nodiscard]] mutex::lock_awaiter : detail::lock_wait<mutex> {
public:
    COFLUX_INLINE lock_awaiter(detail::promise_base& p, mutex& of) noexcept : of_(of), want_(&p) {}
    COFLUX_INLINE ~lock_awaiter() {
        if (is_unresumed()) of_.leave(want_.held);
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        mutex& of = of_;  // not read again after may_try()
        const want as = want_;
        return may_try() && taken_if(of.enter(as));
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_, want_);
    }
    COFLUX_INLINE guard await_resume() noexcept {
        (void)resumed();
        return of_.owned(want_);
    }

private:
    mutex& of_;
    const want want_;
};

extern template class detail::list_wait<mutex>;

}  // namespace coflux
