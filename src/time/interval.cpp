#include <coflux/time/interval.hpp>

#include <ratio>
#include <stdexcept>

namespace coflux {
namespace {

using detail::steady_time;

/// The first moment after `now` that is a multiple of `period` away from `tick`, which is not later than `now`. The
/// time between the two may be longer than a duration can be.
steady_time first_after(steady_time now, steady_time tick, std::chrono::nanoseconds period) noexcept {
    const detail::wide_count begin = tick.time_since_epoch().count();
    const detail::wide_count passed = now.time_since_epoch().count() - begin;
    const detail::wide_count periods = passed / period.count() + 1;
    return steady_time(detail::nanoseconds_of<std::nano>(begin + periods * period.count()));
}

}  // namespace

void interval::throw_bad_period() {
    throw std::invalid_argument("coflux: an interval with a period that is not positive");
}

std::chrono::steady_clock::time_point interval::ticked(std::chrono::steady_clock::time_point now) noexcept {
    const auto tick = next_;
    next_ = detail::later(tick, period_);
    if (next_ > now) return tick;
    switch (missed_) {
    case missed_ticks::burst: break;
    case missed_ticks::delay: next_ = detail::later(now, period_); break;
    case missed_ticks::skip: next_ = first_after(now, tick, period_); break;
    }
    return tick;
}

}  // namespace coflux
