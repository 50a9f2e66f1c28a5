// interval: a tick now and then.
#pragma once

#include <chrono>
#include <coroutine>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/time/sleep.hpp>

namespace coflux {

/// The fate of ticks that passed while there was no waiter. The words are Tokio's.
enum class missed_ticks {
    burst,  ///< each of them comes, one right after the other, until the interval has caught up
    delay,  ///< they are left out; the next comes a period after now, and from then on all are shifted
    skip,   ///< they are left out; the next comes at the next multiple of the period
};

/// A tick each period: `coflux::interval tick(10ms); for (;;) { co_await tick.next(); … }`
///
/// The first tick comes one period after the interval was made, or at the moment given. Ticks do not drift: each is
/// counted from the one before, however late the coroutine came.
///
/// Errors: the constructor throws std::invalid_argument for a period that is not positive.
/// Threads: one coroutine at a time.
/// Costs: those of a sleep.
class interval {
    class [[nodiscard]] tick_awaiter;
    using tick_request = detail::request<tick_awaiter, interval&>;

public:
    template <typename Rep, typename Period>
    explicit interval(std::chrono::duration<Rep, Period> period, missed_ticks missed = missed_ticks::burst)
        : interval(detail::later(clock::now(), period), period, missed) {}
    template <typename Rep, typename Period>
    interval(std::chrono::steady_clock::time_point first, std::chrono::duration<Rep, Period> period,
             missed_ticks missed = missed_ticks::burst)
        : next_(first),
          period_(detail::rounded_up(period)),
          missed_(missed) {
        if (period_.count() <= 0) throw_bad_period();
    }

    /// `co_await tick.next()`: the next tick; a tick that has passed is a yield(). Gives the moment for which it was
    /// due.
    /// Stops: a stop point; the tick is not lost: the next await gives it again, also where it has lost in a select().
    /// As a losing case of when_any() or race() it may have come: then the next await gives the one after it.
    /// Lifetime: the interval outlives the await.
    [[nodiscard("there is no tick until it is awaited: co_await it")]] tick_request next() noexcept { return {*this}; }

    [[nodiscard]] std::chrono::nanoseconds period() const noexcept { return period_; }
    /// The moment of the next tick.
    [[nodiscard]] std::chrono::steady_clock::time_point due() const noexcept { return next_; }
    /// The next tick comes a period from now.
    void reset() noexcept { next_ = detail::later(clock::now(), period_); }

private:
    [[noreturn]] COFLUX_COLD static void throw_bad_period();
    /// The tick has come, at `now`: gives its moment, and settles the next one.
    std::chrono::steady_clock::time_point ticked(std::chrono::steady_clock::time_point now) noexcept;

    std::chrono::steady_clock::time_point next_;
    std::chrono::nanoseconds period_;
    missed_ticks missed_;
};

class [[nodiscard]] interval::tick_awaiter : public detail::sleep_awaiter {
public:
    tick_awaiter(detail::promise_base& p, interval& of) noexcept
        : sleep_awaiter(p, detail::tick_of(of.next_)),
          of_(of) {}
    std::chrono::steady_clock::time_point await_resume() noexcept {
        sleep_awaiter::await_resume();
        return of_.ticked(clock::now());
    }
    // In a select the tick has come only where its case has won.
    using has_two_steps = tick_awaiter;
    static detail::sleep_request claim(interval& of) noexcept { return {detail::tick_of(of.next_)}; }
    static std::chrono::steady_clock::time_point finish(interval& of) noexcept { return of.ticked(clock::now()); }

private:
    interval& of_;
};

}  // namespace coflux
