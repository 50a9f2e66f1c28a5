// One stop request on its way to what waits in and below an environment.
//
// The page docs/design/stop.md has the protocol.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// So many records a request looks at in one step, and so many waits it stops: some 0.1 ms.
inline constexpr int longest_stop_step = COFLUX_LONGEST_STOP_STEP;

/// The work of all requests so far, for tests: a request adds to it with each step.
struct stop_effort {
    atomic<std::uint64_t> steps{0};
    atomic<std::uint64_t> looks{0};  // at records
};
COFLUX_SHARED inline constinit stop_effort effort_of_stops;

/// Lets the coroutines that run know that a stop was requested. Its marks come before.
void count_stop_request() noexcept;
/// A stop was requested of `e`, for the first time: passes that on to all below that have a record, stops what waits
/// there, and counts the request. The rest after one step is a child of what was reached, on the executor of that.
void stop_below(environment& e) noexcept;

}  // namespace coflux::detail
