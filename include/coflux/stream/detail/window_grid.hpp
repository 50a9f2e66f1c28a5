// window_grid: which panes a window has, and which windows a pane is in.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>

#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

// Wide enough for all sums and products of times, so only the way back to a time saturates.
__extension__ typedef __int128 wide_time;

[[nodiscard]] constexpr wide_time floor_div(wide_time a, wide_time b) noexcept {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}
/// The nearest time that there is.
[[nodiscard]] constexpr event_time saturated(wide_time t) noexcept {
    constexpr wide_time least = event_time::min().time_since_epoch().count();
    constexpr wide_time most = event_time::max().time_since_epoch().count();
    return event_time(event_time::duration(static_cast<std::int64_t>(t < least ? least : t > most ? most : t)));
}
[[nodiscard]] constexpr wide_time wide(event_time t) noexcept {
    return t.time_since_epoch().count();
}
[[nodiscard]] constexpr event_time later(event_time t, event_time::duration by) noexcept {
    return saturated(wide(t) + by.count());
}
[[nodiscard]] constexpr event_time earlier(event_time t, event_time::duration by) noexcept {
    return saturated(wide(t) - by.count());
}

/// Time in panes, from the epoch on both sides. Window `k` has the panes [k * step, k * step + count).
///
/// Pre: 0 < slide <= size.
class window_grid {
public:
    constexpr window_grid(event_time::duration size, event_time::duration slide) noexcept
        : pane_(std::gcd(size.count(), slide.count())),
          count_(size.count() / pane_),
          step_(slide.count() / pane_) {}

    [[nodiscard]] constexpr std::int64_t pane_of(event_time t) const noexcept {
        return static_cast<std::int64_t>(floor_div(wide(t), pane_));
    }
    [[nodiscard]] constexpr event_time pane_begin(wide_time pane) const noexcept { return saturated(pane * pane_); }

    [[nodiscard]] constexpr wide_time first_pane(wide_time window) const noexcept { return window * step_; }
    [[nodiscard]] constexpr wide_time end_pane(wide_time window) const noexcept { return window * step_ + count_; }
    [[nodiscard]] constexpr wide_time first_window(wide_time pane) const noexcept {
        return floor_div(pane - count_, step_) + 1;
    }
    [[nodiscard]] constexpr wide_time last_window(wide_time pane) const noexcept { return floor_div(pane, step_); }
    /// The first window that does not end at `t` or before.
    [[nodiscard]] constexpr wide_time first_open(event_time t) const noexcept {
        return floor_div(wide(t) - wide_time(count_) * pane_, wide_time(step_) * pane_) + 1;
    }
    [[nodiscard]] constexpr event_time begin(wide_time window) const noexcept {
        return saturated(first_pane(window) * pane_);
    }
    [[nodiscard]] constexpr event_time end(wide_time window) const noexcept {
        return saturated(end_pane(window) * pane_);
    }
    [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }
    [[nodiscard]] constexpr std::int64_t step() const noexcept { return step_; }
    [[nodiscard]] constexpr std::int64_t pane() const noexcept { return pane_; }

private:
    std::int64_t pane_;
    std::int64_t count_;
    std::int64_t step_;
};

}  // namespace coflux::stream::detail
