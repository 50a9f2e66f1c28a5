// manual_reset_event: a gate that is opened and closed by hand.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux {

/// While it is set, a wait goes on at once; `set()` lets all waiters go: `co_await started.wait();`
///
/// Threads: all members from any.
/// Costs: one locked instruction for set() and reset(), none for a wait while it is set; never an allocation.
/// Lifetime: outlives its waiters; the destructor checks that. A coroutine that sees it set may destroy it, even if the
/// set() has not returned.
class manual_reset_event {
    class wait_awaiter;
    using wait_request = detail::request<wait_awaiter, manual_reset_event&>;

public:
    constexpr explicit manual_reset_event(bool set = false) noexcept : state_(set ? is_on : is_off) {}
    manual_reset_event(const manual_reset_event&) = delete;
    manual_reset_event& operator=(const manual_reset_event&) = delete;
    ~manual_reset_event() {
        COFLUX_VERIFY(state_.load(detail::memory_order_relaxed) != has_waiters,
                      "a manual_reset_event was destroyed while coroutines wait for it");
    }

    /// Sets it; the waiters are queued on their executors, even if it is reset at once.
    void set() noexcept;
    /// Resets it: a coroutine that comes from now on waits. The effects before every set() so far are visible then.
    void reset() noexcept {
        std::uint32_t s = is_on;
        // acquire pairs with the release in set(); if it was not set, nothing changes.
        state_.compare_exchange_strong(s, is_off, detail::memory_order_acquire, detail::memory_order_relaxed);
    }
    /// True while it is set.
    // [stop.event.is_set]
    [[nodiscard]] bool is_set() const noexcept { return state_.load(detail::memory_order_acquire) == is_on; }

    /// `co_await wait()`: goes on when the event is set.
    ///
    /// Resumes: on the coroutine's executor; at once if the event is set.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point while the event is not set; loses nothing.
    [[nodiscard("co_await it")]] wait_request wait() noexcept { return wait_request(*this); }

private:
    friend class detail::list_wait<manual_reset_event>;
    friend class detail::lazy_wait<manual_reset_event>;
    using want = detail::anything;
    static constexpr const char* waits_for = "a manual_reset_event";

    bool ready_or_mark(want) noexcept;
    void unmark() noexcept;

    // state_      | changed by
    // ------------|----------------------------------------------------------------------------------------------
    // is_off      | -> is_on: set(), by CAS; -> has_waiters: a waiter to be, under the list's lock
    // is_on       | -> is_off: reset(), by CAS
    // has_waiters | the queue is not empty; -> is_off: only under the list's lock, when all are taken out
    static constexpr std::uint32_t is_off = 0;
    static constexpr std::uint32_t is_on = 1;
    static constexpr std::uint32_t has_waiters = 2;
    detail::atomic<std::uint32_t> state_;
    detail::wait_list waiters_;
};

class [[nodiscard]] manual_reset_event::wait_awaiter : detail::lazy_wait<manual_reset_event> {
public:
    explicit wait_awaiter(manual_reset_event& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() noexcept { return ready_if(of_.is_set()); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_);
    }
    void await_resume() noexcept { (void)resumed(); }

private:
    manual_reset_event& of_;
};

extern template class detail::list_wait<manual_reset_event>;

}  // namespace coflux
