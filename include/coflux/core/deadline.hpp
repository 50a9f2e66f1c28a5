// The deadline of an environment as a time of std::chrono. Apart from the environment, because <chrono> takes longer to
// compile than all of a fork, and few programs ask.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// The result of environment::deadline(), made of the ticks that the core keeps.
struct deadline_time {
    using time_point = std::chrono::steady_clock::time_point;
    static_assert(time_point::max().time_since_epoch().count() == no_deadline, "the core keeps the clock's own ticks");

    [[nodiscard]] static constexpr std::int64_t ticks(time_point t) noexcept { return t.time_since_epoch().count(); }
    [[nodiscard]] static constexpr time_point at(std::int64_t ticks) noexcept {
        return time_point(time_point::duration(ticks));
    }
    /// From the time of an environment.
    template <typename Time = time_point>
    [[nodiscard]] static constexpr std::optional<Time> from(std::int64_t ticks) noexcept {
        if (ticks == no_deadline) return std::nullopt;
        return at(ticks);
    }
};

}  // namespace coflux::detail
