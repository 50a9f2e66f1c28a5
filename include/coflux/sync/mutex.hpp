// mutex: one coroutine at a time.
#pragma once

#include <coroutine>
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
    COFLUX_INLINE void leave() noexcept {
        std::uint32_t s = locked;
        // release pairs with the acquire in enter().
        // [stop.mutex.leave]
        if (!state_.compare_exchange_strong(s, unlocked, detail::memory_order_release, detail::memory_order_relaxed))
            [[unlikely]]
            leave_slowly();
    }

public:
    /// Owns the lock; movable, unlocks in its destructor or by `unlock()`, on any thread. It may be kept across
    /// suspensions: then no other coroutine has the lock while this one waits elsewhere.
    using guard = detail::ownership<mutex, &mutex::leave>;

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
    [[nodiscard]] guard try_lock() noexcept { return guard(enter() ? this : nullptr); }

private:
    friend class condition_variable;
    friend class detail::list_wait<mutex>;
    friend class detail::lazy_wait<mutex>;
    friend class detail::lock_wait<mutex>;
    using want = detail::anything;
    static constexpr const char* waits_for = "a mutex";

    COFLUX_INLINE guard owned() noexcept { return guard(this); }
    COFLUX_INLINE bool enter() noexcept {
        std::uint32_t s = unlocked;
        // acquire pairs with the release of the unlocking thread.
        // [stop.mutex.enter]
        return state_.compare_exchange_strong(s, locked, detail::memory_order_acquire, detail::memory_order_relaxed);
    }
    COFLUX_ASIDE void leave_slowly() noexcept;
    bool take_now(want) noexcept { return enter(); }
    // relaxed: pairs with nothing.
    [[nodiscard]] bool is_awaited() const noexcept { return state_.load(detail::memory_order_relaxed) == has_waiters; }
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
    // locked      | -> unlocked: its owner, by CAS; -> has_waiters: a waiter to be, by CAS, under the list's lock
    // has_waiters | the queue is not empty; -> locked: only under the list's lock, with the last of the queue
    static constexpr std::uint32_t unlocked = 0;
    static constexpr std::uint32_t locked = 1;
    static constexpr std::uint32_t has_waiters = 2;
    detail::atomic<std::uint32_t> state_{unlocked};
    detail::wait_list waiters_;
};

class [[nodiscard]] mutex::lock_awaiter : detail::lock_wait<mutex> {
public:
    COFLUX_INLINE explicit lock_awaiter(mutex& of) noexcept : of_(of) {}
    COFLUX_INLINE ~lock_awaiter() {
        if (is_unresumed()) of_.leave();
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        mutex& of = of_;  // not read again after may_try()
        return may_try() && taken_if(of.enter());
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_);
    }
    COFLUX_INLINE guard await_resume() noexcept {
        (void)resumed();
        return of_.owned();
    }

private:
    mutex& of_;
};

extern template class detail::list_wait<mutex>;

}  // namespace coflux
