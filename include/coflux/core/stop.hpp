// Asking whether a stop of the running coroutine was requested.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux {

class environment;

/// A look at the stop state of one coroutine: true once a stop was requested of it or of anything above it, or the
/// deadline of its environment has passed. So a loop that computes, and never comes to a stop point, can end when it is
/// asked to. A deadline may be seen here before its timer has requested the stop: a stop point that follows at once may
/// go on, and `co_await this_coroutine::stop()` stops in any case.
///
/// Threads: the coroutine's own.
/// Costs: one load; after each request anywhere in the process a look at up to 32 parents. With a deadline 10 ns more,
/// and a look at the clock at most once a microsecond.
/// Lifetime: must not outlive the coroutine it came from.
class stop_token {
public:
    explicit stop_token(environment& of) noexcept : of_(&of) {}
    [[nodiscard]] bool stop_requested() const noexcept;

private:
    environment* of_;
};

namespace detail {

/// Counts stop requests in the process. A coroutine that has looked up its ancestors since the last one need not
/// look again.
/// The acq_rel exchange pairs with the acquire loads at the stop points: the requester's flag is visible to each thread
/// that sees the new count.
/// 31 bits; it may wrap around.
COFLUX_SHARED inline constinit atomic<std::uint32_t> stop_requests{0};
inline constexpr std::uint32_t stop_count_mask = 0x7fffffff;
/// Requests that have not been everywhere below yet: until then a record without a mark does not speak for what is
/// above it.
COFLUX_SHARED inline constinit atomic<std::uint32_t> standing_stops{0};
/// In a coroutine's copy of the count: it started inline and has not suspended; equal to no count, so that its first
/// suspension, and every question about a stop until then, takes the slow path.
inline constexpr std::uint32_t stop_count_inline = 0x80000000;
/// How many parents a coroutine may have to look at after each request before it makes that shorter; and how far apart
/// the records of calls are that call each other.
inline constexpr std::uint32_t longest_look = COFLUX_LONGEST_LOOK;

}  // namespace detail
}  // namespace coflux
