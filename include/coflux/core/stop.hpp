// Asking whether the running coroutine has been told to stop.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux {

class environment;

/// A look at the stop state of one coroutine: true once a stop was requested of it or of anything above it.
///
/// Threads: the coroutine's own. Lifetime: must not outlive the coroutine it came from.
/// Costs: one load, and a walk up the tree after each request anywhere in the process.
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
/// The acq_rel exchange pairs with the acquire loads at the stop points: the requester's flag is visible to whoever
/// sees the new count.
/// 31 bits; it may wrap around.
inline constinit atomic<std::uint32_t> stop_requests{0};
inline constexpr std::uint32_t stop_count_mask = 0x7fffffff;
/// In a coroutine's copy of the count: it started inline and has not suspended; equal to no count, so that its first
/// suspension, and every question about a stop until then, takes the slow path.
inline constexpr std::uint32_t stop_count_inline = 0x80000000;

}  // namespace detail
}  // namespace coflux
