// shared_mutex: one writer or many readers.
#pragma once

#include <coroutine>
#include <cstdint>
#include <source_location>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/promise_base.hpp>
#include <coflux/sync/detail/ownership.hpp>
#include <coflux/sync/detail/waiting_room.hpp>

namespace coflux {

/// Mutual exclusion of a writer against everybody, and of readers against writers: `auto guard = co_await m.lock_shared();`
/// First come, first served: a writer who waits keeps later readers out, and one who leaves lets in the readers that came
/// before the next writer, all at once.
///
/// Threads: all members from any. Costs: as a mutex; never an allocation.
/// Lifetime: outlives its guards and those who wait for it; the destructor checks that.
class shared_mutex {
    class wait_node;
    template <bool Shared>
    class lock_awaiter;
    template <bool Shared>
    class lock_request;

public:
    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex() {
        COFLUX_VERIFY(state_.load(detail::memory_order_relaxed) == 0,
                      "a shared_mutex was destroyed while it is locked or coroutines wait for it");
    }

private:
    COFLUX_INLINE void leave() noexcept {
        std::uint64_t s = writer;
        // release pairs with the acquire of whoever comes next.
        if (!state_.compare_exchange_strong(s, 0, detail::memory_order_release, detail::memory_order_relaxed))
            [[unlikely]]
            leave_slowly(writer);
    }
    COFLUX_INLINE void leave_shared() noexcept {
        if (!try_leave(one_reader)) [[unlikely]]
            leave_slowly(one_reader);
    }

public:
    /// A writer's and a reader's lock; movable, unlock in their destructors or by `unlock()`, on any thread, and may be kept
    /// across suspensions.
    using guard = detail::ownership<shared_mutex, &shared_mutex::leave>;
    using shared_guard = detail::ownership<shared_mutex, &shared_mutex::leave_shared>;

    /// `co_await lock()`: the lock of a writer, as a `guard`.
    ///
    /// Resumes: on the coroutine's executor, in the order in which they came.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point where it must wait; a coroutine that is stopped has not had the lock, and those behind it move up.
    [[nodiscard("the mutex is not locked until this is awaited: co_await it and keep the guard")]] lock_request<false>
    lock() noexcept;
    /// `co_await lock_shared()`: the lock of a reader, as a `shared_guard`; otherwise the same.
    [[nodiscard("the mutex is not locked until this is awaited: co_await it and keep the guard")]] lock_request<true>
    lock_shared() noexcept;

    /// The lock if it can be had at once. Returns: a guard, which owns nothing otherwise.
    [[nodiscard]] guard try_lock() noexcept { return guard(enter<false>() ? this : nullptr); }
    [[nodiscard]] shared_guard try_lock_shared() noexcept { return shared_guard(enter<true>() ? this : nullptr); }

private:
    template <bool Shared>
    COFLUX_INLINE bool enter() noexcept {
        // acquire pairs with the release of those who left.
        if constexpr (Shared) {
            std::uint64_t s = state_.load(detail::memory_order_relaxed);
            while ((s & (writer | wanted)) == 0) {
                if (state_.compare_exchange_weak(s, s + one_reader, detail::memory_order_acquire,
                                                 detail::memory_order_relaxed))
                    return true;
            }
            return false;
        } else {
            std::uint64_t s = 0;
            return state_.compare_exchange_strong(s, writer, detail::memory_order_acquire,
                                                  detail::memory_order_relaxed);
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
    COFLUX_INLINE bool try_leave(std::uint64_t what) noexcept {
        std::uint64_t s = state_.load(detail::memory_order_relaxed);
        while ((s & wanted) == 0) {
            // release pairs with the acquire of whoever comes next.
            if (state_.compare_exchange_weak(s, s - what, detail::memory_order_release, detail::memory_order_relaxed))
                return true;
        }
        return false;
    }
    COFLUX_ASIDE void leave_slowly(std::uint64_t what) noexcept;
    bool enter_or_want(bool shared) noexcept;
    void let_in(std::uint64_t left, detail::wait_chain& served) noexcept;

    // state_: readers inside * 4 + wanted * 2 + writer inside. Not both readers and a writer.
    //
    // wanted  | who changes it
    // --------|---------------------------------------------------------------------------------------------------
    // 0       | anybody, by CAS; -> 1: one who will wait, under the room's lock
    // 1       | somebody is in the queue; everything changes only under the room's lock; -> 0: with the last of the queue
    static constexpr std::uint64_t writer = 1;
    static constexpr std::uint64_t wanted = 2;
    static constexpr std::uint64_t one_reader = 4;
    detail::atomic<std::uint64_t> state_{0};
    detail::waiting_room room_;
};

class shared_mutex::wait_node : public detail::wait_operation {
public:
    wait_node(detail::promise_base& p, shared_mutex& of, bool shared) noexcept
        : wait_operation(p, kind),
          of_(of),
          shared_(shared) {}
    std::coroutine_handle<> suspend(bool& waits);

private:
    friend class shared_mutex;
    static bool claim(detail::wait_operation& w) noexcept;
    static void stop(detail::wait_operation& w) noexcept;
    static const detail::wait_kind kind;

    shared_mutex& of_;
    const bool shared_;
};

template <bool Shared>
class [[nodiscard]] shared_mutex::lock_awaiter : detail::lazy_wait<wait_node> {
public:
    COFLUX_INLINE explicit lock_awaiter(shared_mutex& of) noexcept : of_(of) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return of_.enter<Shared>(); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_, Shared);
    }
    COFLUX_INLINE auto await_resume() noexcept {
        (void)resumed();
        return of_.owned<Shared>();
    }

private:
    shared_mutex& of_;
};

template <bool Shared>
class [[nodiscard(
    "the mutex is not locked until this is awaited: co_await it and keep the guard")]] shared_mutex::lock_request {
public:
    COFLUX_INLINE lock_awaiter<Shared> await_in(detail::promise_base& p, std::source_location where) const noexcept {
        p.awaits_at(where);
        return lock_awaiter<Shared>(of_);
    }

private:
    friend class shared_mutex;
    explicit lock_request(shared_mutex& of) noexcept : of_(of) {}

    shared_mutex& of_;
};

inline shared_mutex::lock_request<false> shared_mutex::lock() noexcept {
    return lock_request<false>(*this);
}
inline shared_mutex::lock_request<true> shared_mutex::lock_shared() noexcept {
    return lock_request<true>(*this);
}

}  // namespace coflux
