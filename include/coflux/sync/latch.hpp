// latch: a gate that opens once, when a count reaches zero.
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

namespace coflux {

/// Lets its waiters go on once it has been counted down to zero, and stays open: `co_await all_ready.wait();`
///
/// Threads: all members from any.
/// Costs: one locked instruction a count; never an allocation.
/// Lifetime: outlives its waiters; the destructor checks that. A coroutine that sees it open may destroy it, even if
/// the last count_down() has not returned.
class latch {
    class wait_awaiter;
    class arrive_awaiter;

public:
    /// Pre: `expected` is below 2^63.
    constexpr explicit latch(std::size_t expected) noexcept : state_(expected * one) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;
    ~latch() {
        COFLUX_VERIFY((state_.load(detail::memory_order_relaxed) & has_waiters) == 0,
                      "a latch was destroyed while coroutines wait for it");
    }

    /// Counts down by `n`; at zero the waiters are queued on their executors.
    /// Errors: counting below zero is a checked error.
    void count_down(std::size_t n = 1) noexcept {
        std::uint64_t s = state_.load(detail::memory_order_relaxed);
        // With waiters the last one must collect them first.
        while (s / one > n || (s / one == n && (s & has_waiters) == 0)) {
            // acq_rel: the thread that sees zero sees what was done before every count.
            if (state_.compare_exchange_weak(s, s - n * one, detail::memory_order_acq_rel,
                                             detail::memory_order_relaxed))
                return;
        }
        open_slowly(n);
    }
    /// True once the count is zero.
    [[nodiscard]] bool try_wait() const noexcept { return state_.load(detail::memory_order_acquire) < one; }

    /// `co_await wait()`: goes on when the count is zero.
    ///
    /// Resumes: on the coroutine's executor; at once if the count is zero.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point while the count is not zero; loses nothing.
    [[nodiscard("co_await it")]] detail::request<wait_awaiter, latch&> wait() noexcept {
        return detail::request<wait_awaiter, latch&>(*this);
    }
    /// `co_await arrive_and_wait(n)`: count_down(n), then wait().
    ///
    /// Errors: as wait(); it has counted down nevertheless.
    /// Stops: a stop point while the count is not zero; a coroutine that is stopped has counted down nevertheless.
    [[nodiscard("co_await it")]] detail::request<arrive_awaiter, latch&, std::size_t>
    arrive_and_wait(std::size_t n = 1) noexcept {
        return detail::request<arrive_awaiter, latch&, std::size_t>(*this, n);
    }

private:
    friend class detail::list_wait<latch>;
    friend class detail::lazy_wait<latch>;
    using want = detail::anything;
    static constexpr const char* waits_for = "a latch";

    void open_slowly(std::size_t n) noexcept;
    bool ready_or_mark(want) noexcept;
    void unmark() noexcept;

    // state_: count * 2 + has_waiters. Changed by any thread, by read-modify-writes; `has_waiters` only under the
    // list's lock, where it is set while the queue is not empty. At zero it is empty, and nothing changes any more.
    static constexpr std::uint64_t has_waiters = 1;
    static constexpr std::uint64_t one = 2;
    detail::atomic<std::uint64_t> state_;
    detail::wait_list waiters_;
};

class [[nodiscard]] latch::wait_awaiter : detail::lazy_wait<latch> {
public:
    explicit wait_awaiter(latch& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() noexcept { return ready_if(of_.try_wait()); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_);
    }
    void await_resume() noexcept { (void)resumed(); }

protected:
    latch& of_;
};

class [[nodiscard]] latch::arrive_awaiter : public wait_awaiter {
public:
    arrive_awaiter(latch& of, std::size_t n) noexcept : wait_awaiter(of), count_(n) {}
    [[nodiscard]] bool await_ready() noexcept {
        of_.count_down(count_);
        return wait_awaiter::await_ready();
    }

private:
    const std::size_t count_;
};

extern template class detail::list_wait<latch>;

}  // namespace coflux
