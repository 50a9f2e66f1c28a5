// The time that something mostly takes, by measures of which some are too long.
#pragma once

#include <algorithm>

#include <coflux/base/atomic.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// Near the middle one of many measures, not their mean: a thread that lost its processor now and then measures that,
/// too. Each measure moves it by a sixteenth. Written by one thread; to others a hint.
class typical_time {
public:
    /// Until something has been measured.
    explicit typical_time(clock_tick first) noexcept : now_(first) {}

    void add(clock_tick measured) noexcept {
        const clock_tick now = this->now();
        const clock_tick step = now / parts;
        now_.store(measured > now ? now + step : std::max(now - step, parts), memory_order_relaxed);
    }
    [[nodiscard]] clock_tick now() const noexcept { return now_.load(memory_order_relaxed); }

private:
    static constexpr clock_tick parts = 16;  // and the least time, so that it can grow

    atomic<clock_tick> now_;
};

}  // namespace coflux::detail
