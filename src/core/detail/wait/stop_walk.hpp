// One stop request on its way to what waits in and below an environment.
//
// The page docs/design/stop.md has the protocol.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// So many records a request looks at in one step, and so many waits it stops: some 0.1 ms. A request that an operation
/// makes of one of its handles counts as a look.
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
/// Calls `request_next(of)`, which requests one stop, until it is false: that was the last; or until the step is over
/// that this thread is in, and it was called `at_least` so often. True: all are requested.
[[nodiscard]] bool request_in_step(void* of, bool (*request_next)(void* of) noexcept, int at_least = 1) noexcept;
/// Calls wait_kind::stop for a wait that is claimed, once or in several steps, as stop_below() does.
void stop_in_steps(wait_operation& claimed) noexcept;
/// In wait_kind::stop: it is called once more, in a later step. The coroutine does not go on before.
void stop_again(wait_operation& claimed) noexcept;

}  // namespace coflux::detail
