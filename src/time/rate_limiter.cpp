#include <coflux/time/rate_limiter.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace coflux {

using detail::adaptive_guard;
using detail::clock_tick;
using detail::timed_wait;
using detail::timed_wait_list;

namespace {

// With these a fine_time holds all that is computed: twice the burst above the latest moment is less than 2^127.
constexpr std::size_t most = std::size_t{1} << 62;

std::size_t checked(std::size_t n, const char* what) {
    if (n == 0) throw std::invalid_argument(std::string("coflux: a rate_limiter with ") + what + " of none");
    if (n > most) throw std::invalid_argument(std::string("coflux: a rate_limiter with ") + what + " above 2^62");
    return n;
}
clock_tick checked(std::chrono::nanoseconds per) {
    if (per.count() <= 0)
        throw std::invalid_argument("coflux: a rate_limiter with a time for its permits that is not positive");
    return static_cast<clock_tick>(per.count());
}

}  // namespace

constinit const detail::timed_kind rate_limiter::how_it_serves{&rate_limiter::serve, &rate_limiter::due};
constinit const detail::wait_kind rate_limiter::permit_wait::how_it_stops{.claim = &timed_wait::claim,
                                                                          .stop = &timed_wait::stop,
                                                                          .what = "permits of a rate_limiter",
                                                                          .of_at = timed_wait::of_at,
                                                                          .queued_at =
                                                                              detail::wait_operation::previous_at};

rate_limiter::permit_wait::permit_wait(detail::promise_base& p, rate_limiter& of, std::size_t n) noexcept
    : timed_wait(p, of, how_it_stops),
      of_(of),
      count_(n) {}

rate_limiter::rate_limiter(std::size_t permits, std::chrono::nanoseconds per, std::size_t burst, int)
    : timed_wait_list(how_it_serves),
      permits_(checked(permits, "a rate")),
      per_(checked(per)),
      burst_(checked(burst, "a burst")) {}

void rate_limiter::throw_too_many(std::size_t n) const {
    throw std::invalid_argument("coflux: " + std::to_string(n) + " permits of a rate_limiter whose burst is " +
                                std::to_string(burst_) + ": they never come at once");
}

rate_limiter::fine_time rate_limiter::full_after(std::size_t n, clock_tick now) const noexcept {
    return std::max(full_at_, fine_time{now} * permits_) + cost(n);
}

bool rate_limiter::take(std::size_t n, clock_tick now) noexcept {
    const fine_time full = full_after(n, now);
    if (full > fine_time{now} * permits_ + cost(burst_)) return false;
    full_at_ = full;
    return true;
}

bool rate_limiter::try_acquire(std::size_t n) {
    check(n);
    return changed([this, n](clock_tick now) noexcept { return !is_awaited() && take(n, now); });
}

void rate_limiter::give_back(std::size_t n) noexcept {
    changed([this, n](clock_tick) noexcept {
        full_at_ -= cost(n);  // it was taken: the bucket is never fuller than full
        return true;
    });
}

std::size_t rate_limiter::available() const noexcept {
    const clock_tick now = detail::tick_now();
    const adaptive_guard guard(lock_);
    const fine_time there = fine_time{now} * permits_ + cost(burst_);
    return static_cast<std::size_t>((there - std::max(full_at_, fine_time{now} * permits_)) / per_);
}

bool rate_limiter::serve(timed_wait_list& of, timed_wait& w, clock_tick now) noexcept {
    return static_cast<rate_limiter&>(of).take(static_cast<const permit_wait&>(w).count_, now);
}

/// The first tick at which take() gives it.
clock_tick rate_limiter::due(timed_wait_list& of, const timed_wait& w) noexcept {
    const auto& r = static_cast<const rate_limiter&>(of);
    const fine_time full = r.full_at_ + r.cost(static_cast<const permit_wait&>(w).count_);
    const fine_time at = (full - r.cost(r.burst_) + r.permits_ - 1) / r.permits_;
    constexpr fine_time end = detail::timing_wheel::never / 2;  // of the steady clock
    return static_cast<clock_tick>(std::min(at, end));
}

}  // namespace coflux
