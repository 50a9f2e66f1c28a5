// auto_reset_event: wakes one waiter for each time it is set.
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux {

/// `set()` lets exactly one coroutine pass: the first of the waiters, or the next to come: `co_await more.wait();` It
/// is remembered once: two calls while there is no waiter let one pass.
///
/// Threads: all members from any.
/// Costs: one locked instruction for set() and for a wait that is ready; never an allocation.
/// Lifetime: outlives its waiters; the destructor checks that. A coroutine that has passed may destroy it, even if the
/// set() has not returned.
class auto_reset_event {
    class wait_awaiter;
    class claim_awaiter;
    class kept_set;
    using wait_request = detail::request<wait_awaiter, auto_reset_event&>;

public:
    constexpr explicit auto_reset_event(bool set = false) noexcept : state_(set ? is_on : is_off) {}
    auto_reset_event(const auto_reset_event&) = delete;
    auto_reset_event& operator=(const auto_reset_event&) = delete;
    ~auto_reset_event() {
        COFLUX_VERIFY(state_.load(detail::memory_order_relaxed) != has_waiters,
                      "an auto_reset_event was destroyed while coroutines wait for it");
    }

    /// Lets one coroutine go: queues it on its executor, or remembers the call. Effects before it are visible to that
    /// coroutine, even if the event was set before.
    void set() noexcept {
        std::uint32_t s = state_.load(detail::memory_order_relaxed);
        while (s != has_waiters) {
            // A write even if it was set: the taker sees what came before this call, too. release pairs with
            // try_wait().
            if (state_.compare_exchange_weak(s, is_on, detail::memory_order_release, detail::memory_order_relaxed))
                return;
        }
        set_slowly();
    }
    /// Takes what is remembered, if anything is: true if the event was set.
    [[nodiscard]] bool try_wait() noexcept {
        std::uint32_t s = is_on;
        // acquire pairs with the release in set().
        return state_.compare_exchange_strong(s, is_off, detail::memory_order_acquire, detail::memory_order_relaxed);
    }
    /// Forgets what is remembered.
    void reset() noexcept { (void)try_wait(); }

    /// `co_await wait()`: goes on when set() lets it.
    ///
    /// Resumes: on the coroutine's executor, in the order in which they came; at once if the event is set, which resets
    /// it.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point where it must wait; a coroutine that is stopped has used up no set().
    [[nodiscard("co_await it")]] wait_request wait() noexcept { return wait_request(*this); }

private:
    friend class detail::list_wait<auto_reset_event>;
    friend class detail::lazy_wait<auto_reset_event>;
    using want = detail::anything;
    static constexpr const char* waits_for = "an auto_reset_event";

    void set_slowly() noexcept;
    bool ready_or_mark(want) noexcept;
    void unmark() noexcept;

    // state_      | changed by
    // ------------|----------------------------------------------------------------------------------------------
    // is_off      | -> is_on: set(), by CAS; -> has_waiters: a waiter to be, under the list's lock
    // is_on       | -> is_off: the taker, by CAS
    // has_waiters | the queue is not empty; -> is_off: only under the list's lock, with the last of the queue
    static constexpr std::uint32_t is_off = 0;
    static constexpr std::uint32_t is_on = 1;
    static constexpr std::uint32_t has_waiters = 2;
    detail::atomic<std::uint32_t> state_;
    detail::wait_list waiters_;
};

class [[nodiscard]] auto_reset_event::wait_awaiter : detail::lazy_wait<auto_reset_event> {
public:
    explicit wait_awaiter(auto_reset_event& of) noexcept : of_(of) {}
    ~wait_awaiter() {
        if (is_unresumed()) of_.set();
    }
    [[nodiscard]] bool await_ready() noexcept { return ready_if(of_.try_wait()); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_);
    }
    void await_resume() noexcept { (void)resumed(); }
    using has_two_steps = wait_awaiter;
    static auto claim(auto_reset_event& of) noexcept;
    static void finish(kept_set kept, auto_reset_event&) noexcept;

private:
    auto_reset_event& of_;
};

/// A call of set() that let one coroutine go, and is made again unless it is used up.
class [[nodiscard]] auto_reset_event::kept_set {
public:
    explicit kept_set(auto_reset_event& of) noexcept : of_(&of) {}
    kept_set(kept_set&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    ~kept_set() {
        if (of_ != nullptr) of_->set();
    }
    void use_up() noexcept { of_ = nullptr; }

private:
    auto_reset_event* of_;
};

class [[nodiscard]] auto_reset_event::claim_awaiter : public wait_awaiter {
public:
    explicit claim_awaiter(auto_reset_event& of) noexcept : wait_awaiter(of), claims_(of) {}
    kept_set await_resume() noexcept {
        wait_awaiter::await_resume();
        return kept_set(claims_);
    }

private:
    auto_reset_event& claims_;
};

inline void auto_reset_event::wait_awaiter::finish(kept_set kept, auto_reset_event&) noexcept {
    kept.use_up();
}
inline auto auto_reset_event::wait_awaiter::claim(auto_reset_event& of) noexcept {
    return detail::request<claim_awaiter, auto_reset_event&>(of);
}

extern template class detail::list_wait<auto_reset_event>;

}  // namespace coflux
