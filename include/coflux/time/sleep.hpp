// sleep_for, sleep_until, co_await 10ms: waiting for a moment in time without a thread.
#pragma once

#include <chrono>
#include <coroutine>
#include <type_traits>

#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timer_queue.hpp>

namespace coflux {
namespace detail {

/// A sleep of one coroutine: its wait and its timer in one. The page docs/design/time.md has its states.
class [[nodiscard]] sleep_awaiter : private wait_operation, private timer {
public:
    sleep_awaiter(promise_base& p, clock_tick deadline) noexcept
        : wait_operation(p, how_it_stops),
          timer(how_it_ends),
          wakes_at_(deadline) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h);
    void await_resume() noexcept { resumed(); }

private:
    static bool claim(wait_operation& waiting) noexcept;
    static void come_due(timer& t) noexcept;
    static const environment& whose(const timer& t) noexcept;
    static const wait_kind how_it_stops;
    static const timer_kind how_it_ends;

    clock_tick wakes_at_;  // 0: does not sleep, but lets other coroutines run
};

class [[nodiscard("nothing sleeps until it is awaited: co_await it")]] sleep_request
    : public request<sleep_awaiter, clock_tick> {
public:
    using request::request;
};

}  // namespace detail

/// `co_await sleep_for(d)`: the coroutine goes on after `d`, counted from this call.
///
/// Shapes: any duration. A duration that is not positive is a yield(). A sleep too long to be counted never ends.
/// Units: nanoseconds; a finer duration is rounded up.
/// Resumes: on its own executor, never early. Late by what its executor needs to get to it; a thread that slept adds
/// what the system needs to wake it, 10 to 35 us (thread_pool_options::timer_spin avoids that).
/// Errors: the first sleep outside a pool throws std::system_error if that thread cannot be had.
/// Stops: a stop point; the sleep ends at once. Nothing can be lost.
/// Threads: on a thread pool, those of the pool; on other executors, and on none, a thread of the process keeps the
/// time. A coroutine without an executor goes on upon that thread.
/// Costs: no allocation, and no lock on a thread pool.
template <typename Rep, typename Period>
detail::sleep_request sleep_for(std::chrono::duration<Rep, Period> d) noexcept {
    if (!(d > d.zero())) return {0};
    return {detail::tick_of(detail::later(clock::now(), d))};
}

// Not a number.
template <typename N>
    requires std::is_arithmetic_v<N>
detail::sleep_request sleep_for(N) noexcept {
    static_assert(detail::never<N>, "coflux: a number has no unit: write sleep_for(5ms), or 5s, with "
                                    "`using namespace std::chrono_literals;`");
    return {0};
}

/// `co_await sleep_until(t)`: sleeps until a moment. A moment that has passed is a yield().
///
/// Shapes: `t` may be of any clock. A moment of another one than std::chrono::steady_clock is converted by what both
/// clocks show now: if the other clock is adjusted meanwhile, the sleep does not follow. A moment that is too far to be
/// counted never comes.
template <typename Clock, typename Duration>
detail::sleep_request sleep_until(std::chrono::time_point<Clock, Duration> t) noexcept {
    return {detail::tick_of(detail::on_steady_clock(t))};
}

/// `co_await 10ms` is `co_await sleep_for(10ms)`.
template <typename Rep, typename Period>
struct detail::awaited_as<std::chrono::duration<Rep, Period>> {
    static sleep_request request(std::chrono::duration<Rep, Period> d) noexcept { return sleep_for(d); }
};

}  // namespace coflux
