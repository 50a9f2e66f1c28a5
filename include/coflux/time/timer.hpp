// timer: a moment that can be moved and called off while coroutines wait for it.
#pragma once

#include <chrono>
#include <coroutine>
#include <type_traits>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timed_wait.hpp>

namespace coflux {

/// A moment that any thread may move or call off: `coflux::timer idle(30s);`, `idle.reset(30s)` at each message, and in
/// another coroutine `if (co_await idle.wait()) close();`
///
/// It is pending from a reset() on until its moment comes, and then it has fired; or until stop(), and then it is
/// stopped. Each of these lasts until the next reset(). An `interval` repeats.
///
/// Threads: all members from any.
/// Costs: a lock and a reading of the clock for each operation; never an allocation. Only what is waited for is among
/// the pending timers of a thread. A moment that is moved further away costs no more than that: the timer stays where
/// it is pending, and is looked at once in vain.
/// Lifetime: outlives its waiters, until each has gone on; the destructor checks that none is left in it.
/// Example: examples/19_time.cpp
class timer : private detail::timed_wait_list {
    class wait_awaiter;
    using wait_request = detail::request<wait_awaiter, timer&>;

public:
    /// Stopped.
    timer() noexcept : timed_wait_list(how_it_serves) {}
    /// Pending, as after reset().
    template <typename Rep, typename Period>
    explicit timer(std::chrono::duration<Rep, Period> after) noexcept : timer() {
        begin(detail::later(clock::now(), after));
    }
    template <typename Clock, typename Duration>
    explicit timer(std::chrono::time_point<Clock, Duration> when) noexcept : timer() {
        begin(detail::on_steady_clock(when));
    }
    // Not a number.
    template <typename N>
        requires std::is_arithmetic_v<N>
    explicit timer(N) noexcept : timer() {
        static_assert(detail::never<N>, "coflux: a number has no unit: write timer(30s), or timer(5ms), with "
                                        "`using namespace std::chrono_literals;`");
    }
    ~timer() { COFLUX_VERIFY(!is_awaited(), "a timer was destroyed while coroutines wait for it"); }

    /// It fires after `after`, counted from this call, or at `when`, whatever it was to do before. The coroutines that
    /// wait for it stay, and wait for that. Those whose moment has come before go on, as it fired for them.
    ///
    /// Shapes: any duration; a moment of any clock, as in sleep_until(). One that is not positive, or has passed, fires
    /// at once. One that is too far to be counted never comes.
    /// Returns: true if it was pending; false if it had fired or was stopped.
    template <typename Rep, typename Period>
    bool reset(std::chrono::duration<Rep, Period> after) noexcept {
        return reset_to(detail::later(clock::now(), after));
    }
    template <typename Clock, typename Duration>
    bool reset(std::chrono::time_point<Clock, Duration> when) noexcept {
        return reset_to(detail::on_steady_clock(when));
    }
    template <typename N>
        requires std::is_arithmetic_v<N>
    bool reset(N) noexcept {
        static_assert(detail::never<N>, "coflux: a number has no unit: write reset(30s), or reset(5ms), with "
                                        "`using namespace std::chrono_literals;`");
        return false;
    }
    /// Calls it off. The coroutines that wait for it go on, with false. A timer that has fired stays so: a wait() is
    /// true.
    ///
    /// Returns: true if it was pending, and now will not fire; false if it had fired or was stopped.
    bool stop() noexcept;

    /// `if (co_await t.wait())`: waits while it is pending.
    ///
    /// Shapes: any number of coroutines.
    /// Returns: true if it has fired, false if it is stopped; without a wait if that is so already.
    /// Resumes: on the coroutine's executor, never early, in the order in which they came.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; std::system_error in the first wait of the
    /// process, if the thread that keeps the time outside pools cannot be had. Then it has not waited.
    /// Stops: a stop point while it is pending; loses nothing. The timer goes on.
    [[nodiscard("nothing waits until it is awaited: co_await it")]] wait_request wait() noexcept { return {*this}; }

    /// True from a reset() on until it fires or is stopped.
    [[nodiscard]] bool pending() const noexcept;

private:
    void begin(detail::steady_time when) noexcept {
        is_set_ = true;
        moment_ = detail::tick_of(when);
    }
    bool reset_to(detail::steady_time when) noexcept;
    static bool serve(detail::timed_wait_list& of, detail::timed_wait& w, detail::clock_tick now) noexcept;
    static detail::clock_tick due(detail::timed_wait_list& of, const detail::timed_wait& w) noexcept;
    static const detail::timed_kind how_it_serves;

    // Guarded by the lock. It is pending if it is set and its moment has not come.
    bool is_set_ = false;
    detail::clock_tick moment_ = 0;
};

class [[nodiscard]] timer::wait_awaiter : public detail::timed_wait {
public:
    wait_awaiter(detail::promise_base& p, coflux::timer& of) noexcept;
    bool await_resume() noexcept {
        resumed();
        return fired_;
    }

private:
    friend class coflux::timer;
    static const detail::wait_kind how_it_stops;

    bool fired_ = false;
};

}  // namespace coflux
