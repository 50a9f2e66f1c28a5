// timeout, deadline for operations of I/O: without a frame.
#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include <coflux/io/result.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux {

/// `if (auto n = co_await coflux::timeout(stream.read_some(buffer), 50ms))`: waits no longer than `d`, counted from
/// its await, which begins to wait once it has tried.
///
/// Shapes: an operation of I/O that waits for a descriptor, in the expression that makes it; as_result() of one, too:
/// the limit is outside. Those of files are limited as everything else, with a frame: what goes to a thread that
/// may block does not begin with a limit that is not positive.
/// Returns: limited of what the operation gives: timed_out() if time was up. An attempt before that counts. If `d`
/// is not positive, the operation is tried once. On an executor of one thread that has other work at that moment the
/// time is counted from when this lets the thread look again, or up to 1 ms later.
/// Errors: those of the operation, and as sleep_for() where it waits.
/// Stops: as the operation. The limit loses what a stop would.
/// Threads: as the operation.
/// Costs: no allocation, and no timer unless it waits.
template <typename Operation, typename... Args, typename Rep, typename Period>
    requires std::is_base_of_v<detail::io_operation, Operation>
[[nodiscard("nothing is limited until it is awaited: co_await it")]] auto
timeout(detail::io_request<Operation, Args...>&& operation, std::chrono::duration<Rep, Period> d) {
    return std::move(operation).with_limit(detail::limit_of(d));
}

/// Waits no longer than until a moment. Otherwise as timeout() of an operation of I/O.
///
/// Shapes: `t` may be of any clock, as in sleep_until().
template <typename Operation, typename... Args, typename Clock, typename Duration>
    requires std::is_base_of_v<detail::io_operation, Operation>
[[nodiscard("nothing is limited until it is awaited: co_await it")]] auto
deadline(detail::io_request<Operation, Args...>&& operation, std::chrono::time_point<Clock, Duration> t) {
    return std::move(operation).with_limit(detail::limit_of(t));
}

}  // namespace coflux
