// rate_limiter: so many permits in so much time, and a burst.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timed_wait.hpp>

namespace coflux {

/// A bucket of permits that fills with time: `coflux::rate_limiter limit(100, 1s, 10);` lets a hundred through in a
/// second, and ten at once where none has come for a while: `co_await limit.acquire();`
///
/// It is full at first. A permit comes each `per / permits`, also where that is no whole number of nanoseconds: only
/// the moment at which a waiter goes on is rounded, up. In any span of time d at most `burst + d * permits / per` are
/// given. A `select` that took some and is won by another case gives them back: they are given again, beyond that
/// bound. A permit that comes while the bucket is full is lost. So a burst that is larger than each request makes up
/// for the time by which a waiter goes on late, and one that is not keeps the requests apart. First come, first served:
/// a request for many is not overtaken by later ones for few.
///
/// Errors: the constructor throws std::invalid_argument for a rate, a burst or a time that is not positive, and for
/// more than 2^62 of the first two; acquire() and try_acquire() throw it for more permits than the burst, as those
/// never come.
/// Threads: all members from any.
/// Costs: a lock and a reading of the clock for each operation; never an allocation. While coroutines wait, the first
/// of them has the one timer.
/// Lifetime: outlives its waiters; the destructor checks that none is left.
/// Source: the generic cell rate algorithm of ITU-T I.371, which is the token bucket in one number: the moment at which
/// the bucket is full.
/// Example: examples/51_rate_limit.cpp
class rate_limiter : private detail::timed_wait_list {
    class acquire_awaiter;
    class claim_awaiter;
    template <typename Awaiter>
    using request = detail::request<Awaiter, rate_limiter&, std::size_t>;

public:
    /// `permits` come in `per`, and at most `burst` are kept.
    template <typename Rep, typename Period>
    rate_limiter(std::size_t permits, std::chrono::duration<Rep, Period> per, std::size_t burst)
        : rate_limiter(permits, detail::rounded_up(per), burst, 0) {}
    // Not a number.
    template <typename N>
        requires std::is_arithmetic_v<N>
    rate_limiter(std::size_t permits, N, std::size_t burst)
        : rate_limiter(permits, std::chrono::nanoseconds(), burst, 0) {
        static_assert(detail::never<N>, "coflux: a number has no unit: write rate_limiter(100, 1s, 10), with "
                                        "`using namespace std::chrono_literals;`");
    }
    ~rate_limiter() { COFLUX_VERIFY(!is_awaited(), "a rate_limiter was destroyed while coroutines wait for it"); }

    /// `co_await acquire(n)`: takes `n` permits, once they have come.
    ///
    /// Returns: nothing.
    /// Resumes: on the coroutine's executor, in the order in which they came, never early.
    /// Errors: std::invalid_argument where `n` is more than the burst, from the call. Else as timer::wait(): then it
    /// has taken nothing.
    /// Stops: a stop point where it must wait. A coroutine that is stopped has taken nothing: its place is given back,
    /// and those behind it move up, to earlier moments.
    [[nodiscard("nothing is acquired until this is awaited: co_await it")]] request<acquire_awaiter>
    acquire(std::size_t n = 1) {
        check(n);
        return {*this, n};
    }
    /// Takes `n` permits if that many have come and there are no waiters.
    ///
    /// Errors: as acquire().
    [[nodiscard]] bool try_acquire(std::size_t n = 1);

    /// How many there are now, which may be past before it is looked at.
    [[nodiscard]] std::size_t available() const noexcept;

private:
    class taken;
    class permit_wait;

    /// The unit of time of the bucket: nanoseconds × permits, in which a permit comes each `per` nanoseconds.
    __extension__ typedef unsigned __int128 fine_time;

    rate_limiter(std::size_t permits, std::chrono::nanoseconds per, std::size_t burst, int);

    void check(std::size_t n) const {
        if (n > burst_) [[unlikely]]
            throw_too_many(n);
    }
    [[noreturn]] COFLUX_COLD void throw_too_many(std::size_t n) const;
    [[nodiscard]] fine_time cost(std::size_t n) const noexcept { return fine_time{n} * per_; }
    /// When the bucket is full again if `n` are taken at `now`.
    [[nodiscard]] fine_time full_after(std::size_t n, detail::clock_tick now) const noexcept;
    bool take(std::size_t n, detail::clock_tick now) noexcept;
    /// Gives back `n` permits that a select took and does not use. The bucket may have filled up meanwhile, and the next
    /// requests have them on top of that: in a span of time d at most `n + burst + d * permits / per` are used, if they
    /// were taken before the span and come back in it.
    void give_back(std::size_t n) noexcept;
    static bool serve(detail::timed_wait_list& of, detail::timed_wait& w, detail::clock_tick now) noexcept;
    static detail::clock_tick due(detail::timed_wait_list& of, const detail::timed_wait& w) noexcept;
    static const detail::timed_kind how_it_serves;

    const detail::clock_tick permits_;
    const detail::clock_tick per_;
    const std::size_t burst_;
    fine_time full_at_ = 0;  // guarded by the lock
};

/// The part that a select took, and gives back if it decides otherwise.
class rate_limiter::taken {
public:
    taken(rate_limiter& of, std::size_t n) noexcept : of_(&of), count_(n) {}
    taken(taken&& from) noexcept : of_(std::exchange(from.of_, nullptr)), count_(from.count_) {}
    taken& operator=(taken&&) = delete;
    ~taken() {
        if (of_ != nullptr) of_->give_back(count_);
    }
    void keep() noexcept { of_ = nullptr; }

private:
    rate_limiter* of_;
    std::size_t count_;
};

class rate_limiter::permit_wait : public detail::timed_wait {
public:
    permit_wait(detail::promise_base& p, rate_limiter& of, std::size_t n) noexcept;
    ~permit_wait() {
        if (is_unresumed()) of_.give_back(count_);
    }

protected:
    friend class rate_limiter;
    static const detail::wait_kind how_it_stops;

    rate_limiter& of_;
    const std::size_t count_;
};

class [[nodiscard]] rate_limiter::claim_awaiter : public permit_wait {
public:
    using permit_wait::permit_wait;
    taken await_resume() noexcept {
        resumed();
        return {of_, count_};
    }
};

class [[nodiscard]] rate_limiter::acquire_awaiter : public permit_wait {
public:
    using permit_wait::permit_wait;
    void await_resume() noexcept { resumed(); }
    using has_two_steps = acquire_awaiter;
    static request<claim_awaiter> claim(rate_limiter& of, std::size_t n) noexcept { return {of, n}; }
    static void finish(taken permits, rate_limiter&, std::size_t) noexcept { permits.keep(); }
};

}  // namespace coflux
