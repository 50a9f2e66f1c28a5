#include <coflux/time/interval.hpp>

namespace coflux {

std::chrono::steady_clock::time_point interval::ticked(std::chrono::steady_clock::time_point now) noexcept {
    const auto tick = next_;
    next_ = detail::later(tick, period_);
    if (next_ > now) return tick;
    switch (missed_) {
    case missed_ticks::burst: break;
    case missed_ticks::delay: next_ = detail::later(now, period_); break;
    case missed_ticks::skip: next_ = detail::later(tick, ((now - tick) / period_ + 1) * period_); break;
    }
    return tick;
}

}  // namespace coflux
