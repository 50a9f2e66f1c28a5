// Where the layer of time sets how a deadline acts: the core knows no clock.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

/// A program that sets a deadline refers to this, so that the linker takes the layer of time with it. A program that is
/// linked with the core alone has the core's, and no deadline acts.
extern "C" COFLUX_SHARED char coflux_deadlines_act;

namespace coflux {
class environment;
}  // namespace coflux

namespace coflux::detail {

/// Times are in ticks of std::chrono::steady_clock.
struct deadline_hook {
    /// From now on `e` is stopped when the time comes, until disarm(). May throw std::bad_alloc; then nothing has
    /// happened.
    void* (*arm)(environment& e, std::int64_t at);
    /// Gives back what arm() gave; afterwards nothing touches `e` on account of it.
    void (*disarm)(void* armed) noexcept;
    /// The deadline has come, by a clock that may be a microsecond slow.
    bool (*has_passed)(std::int64_t deadline) noexcept;
};

/// nullptr: deadlines are handed down and nothing acts on them. Set before main, in each program that has the layer of
/// time.
COFLUX_SHARED inline constinit atomic<const deadline_hook*> act_on_deadlines{nullptr};

/// Asks the layer of time, which looks at the clock at most once a microsecond; false if there is none.
COFLUX_ASIDE bool has_passed(std::int64_t deadline) noexcept;

}  // namespace coflux::detail
