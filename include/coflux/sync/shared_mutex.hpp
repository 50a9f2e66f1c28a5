// shared_mutex: one writer or many readers.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/permit_count.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/sync/detail/ownership.hpp>

namespace coflux {

/// Mutual exclusion of a writer against all users, and of readers against writers: `auto guard = co_await
/// m.lock_shared();` First come, first served: a waiting writer keeps later readers out. A leaving writer lets in the
/// readers that came before the next writer, all at once.
///
/// Threads: all members from any.
/// Costs: as a mutex; never an allocation.
/// Lifetime: outlives its guards and its waiters; the destructor checks that.
class shared_mutex : private detail::permit_count {
    template <bool Shared>
    class lock_awaiter;
    template <bool Shared>
    using lock_request = detail::request<lock_awaiter<Shared>, shared_mutex&>;

public:
    constexpr shared_mutex() noexcept : permit_count(all) {}
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex() {
        COFLUX_VERIFY(free() == all && !is_awaited(),
                      "a shared_mutex was destroyed while it is locked or coroutines wait for it");
    }

private:
    // A reader holds one permit, a writer holds all.
    static constexpr std::uint64_t all = std::uint64_t{1} << 61;
    template <bool Shared>
    static constexpr std::uint64_t part = Shared ? 1 : all;

    COFLUX_INLINE void leave() noexcept { release_all(all); }
    COFLUX_INLINE void leave_shared() noexcept { (void)release(1); }

public:
    /// A writer's and a reader's lock; movable, unlock in their destructors or by `unlock()`, on any thread, and may be
    /// kept across suspensions.
    using guard = detail::ownership<shared_mutex, &shared_mutex::leave>;
    using shared_guard = detail::ownership<shared_mutex, &shared_mutex::leave_shared>;

    /// `co_await lock()`: the lock of a writer, as a `guard`.
    ///
    /// Resumes: on the coroutine's executor, in the order in which they came.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point where it must wait; a coroutine that is stopped has not had the lock, and those behind it
    /// move up.
    [[nodiscard("the mutex is not locked until this is awaited: co_await it and keep the guard")]] lock_request<false>
    lock() noexcept {
        return lock_request<false>(*this);
    }
    /// `co_await lock_shared()`: the lock of a reader, as a `shared_guard`; otherwise as lock().
    [[nodiscard("the mutex is not locked until this is awaited: co_await it and keep the guard")]] lock_request<true>
    lock_shared() noexcept {
        return lock_request<true>(*this);
    }

    /// The lock if it can be had at once.
    /// Returns: a guard, which owns nothing otherwise.
    [[nodiscard]] guard try_lock() noexcept { return guard(enter<false>() ? this : nullptr); }
    [[nodiscard]] shared_guard try_lock_shared() noexcept { return shared_guard(enter<true>() ? this : nullptr); }

private:
    friend class detail::list_wait<shared_mutex>;
    friend class detail::lazy_wait<shared_mutex>;
    friend class detail::lock_wait<shared_mutex>;
    static constexpr const char* waits_for = "a shared_mutex";

    template <bool Shared>
    COFLUX_INLINE bool enter() noexcept {
        if constexpr (Shared) {
            return try_acquire(1);
        } else {
            return try_acquire_all(all);
        }
    }
    template <bool Shared>
    COFLUX_INLINE auto owned() noexcept {
        if constexpr (Shared) {
            return shared_guard(this);
        } else {
            return guard(this);
        }
    }
};

template <bool Shared>
class [[nodiscard]] shared_mutex::lock_awaiter : detail::lock_wait<shared_mutex> {
public:
    COFLUX_INLINE explicit lock_awaiter(shared_mutex& of) noexcept : of_(of) {}
    COFLUX_INLINE ~lock_awaiter() {
        if (this->is_unresumed()) (void)of_.owned<Shared>();  // it dies at once
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        shared_mutex& of = of_;  // not read again after may_try()
        return this->may_try() && this->taken_if(of.enter<Shared>());
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return this->wait(h.promise(), of_, want{.count = part<Shared>});
    }
    COFLUX_INLINE auto await_resume() noexcept {
        (void)resumed();
        return of_.owned<Shared>();
    }

private:
    shared_mutex& of_;
};

extern template class detail::list_wait<shared_mutex>;

}  // namespace coflux
