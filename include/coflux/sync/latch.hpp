// latch: a gate that opens once, when a count reaches zero.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/promise_base.hpp>
#include <coflux/sync/detail/waiting_room.hpp>

namespace coflux {

/// Lets those who wait go on once it has been counted down to zero, and stays open: `co_await all_ready.wait();`
///
/// Threads: all members from any. Costs: one locked instruction a count; never an allocation.
/// Lifetime: outlives those who wait for it; the destructor checks that. Whoever sees it open may destroy it, even if the
/// last count_down() has not returned.
class latch {
    class wait_node;
    class wait_awaiter;
    class arrive_awaiter;
    template <typename Awaiter>
    class request;

public:
    /// Pre: `expected` is below 2^63.
    constexpr explicit latch(std::size_t expected) noexcept : state_(expected * one) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;
    ~latch() {
        COFLUX_VERIFY((state_.load(detail::memory_order_relaxed) & wanted) == 0,
                      "a latch was destroyed while coroutines wait for it");
    }

    /// Counts down by `n`; at zero those who wait are queued on their executors.
    /// Errors: counting below zero is a checked error.
    void count_down(std::size_t n = 1) noexcept {
        std::uint64_t s = state_.load(detail::memory_order_relaxed);
        // With waiters the last one must collect them first.
        while (s / one > n || (s / one == n && (s & wanted) == 0)) {
            // acq_rel: who sees zero sees what was done before every count.
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
    [[nodiscard("co_await it")]] request<wait_awaiter> wait() noexcept;
    /// `co_await arrive_and_wait(n)`: count_down(n), then wait().
    ///
    /// Stops: a stop point while the count is not zero; a coroutine that is stopped has counted down all the same. Errors: as
    /// wait(); it has counted down all the same.
    [[nodiscard("co_await it")]] request<arrive_awaiter> arrive_and_wait(std::size_t n = 1) noexcept;

private:
    void open_slowly(std::size_t n) noexcept;
    bool is_open_or_want() noexcept;

    // state_: count * 2 + wanted. Changed by anybody, by read-modify-writes; `wanted` only under the room's lock, where it is set
    // while somebody is in the queue. At zero nobody is, and nothing changes any more.
    static constexpr std::uint64_t wanted = 1;
    static constexpr std::uint64_t one = 2;
    detail::atomic<std::uint64_t> state_;
    detail::waiting_room room_;
};

class latch::wait_node : public detail::wait_operation {
public:
    wait_node(detail::promise_base& p, latch& of) noexcept : wait_operation(p, kind), of_(of) {}
    std::coroutine_handle<> suspend(bool& waits);

private:
    static bool claim(detail::wait_operation& w) noexcept;
    static const detail::wait_kind kind;

    latch& of_;
};

class [[nodiscard]] latch::wait_awaiter : detail::lazy_wait<wait_node> {
public:
    explicit wait_awaiter(latch& of, std::size_t = 0) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return of_.try_wait(); }
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
    [[nodiscard]] bool await_ready() const noexcept {
        of_.count_down(count_);
        return of_.try_wait();
    }

private:
    const std::size_t count_;
};

template <typename Awaiter>
class [[nodiscard("co_await it")]] latch::request {
public:
    Awaiter await_in(detail::promise_base& p, std::source_location where) const noexcept {
        p.awaits_at(where);
        return Awaiter(of_, count_);
    }

private:
    friend class latch;
    request(latch& of, std::size_t n) noexcept : of_(of), count_(n) {}

    latch& of_;
    const std::size_t count_;
};

inline latch::request<latch::wait_awaiter> latch::wait() noexcept {
    return {*this, 0};
}
inline latch::request<latch::arrive_awaiter> latch::arrive_and_wait(std::size_t n) noexcept {
    return {*this, n};
}

}  // namespace coflux
