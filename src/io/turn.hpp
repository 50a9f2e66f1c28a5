// Calls of a socket that end at once count as steps of a round.
#pragma once

#include "core/detail/thread/steps.hpp"

namespace coflux::detail {

/// So many calls of a socket that end at once count as one step: a call that comes after the last step of its round
/// suspends, which costs a resumption, and makes the portion that a look finds a smaller one.
inline constexpr unsigned calls_in_a_step = 4;
inline constinit thread_local unsigned calls_made = 0;

/// A coroutine is about to make one: true as spend_steps().
inline bool spend_call() noexcept {
    if (this_thread.queues != nullptr && ++calls_made % calls_in_a_step != 0) return false;
    return spend_steps(1);
}

}  // namespace coflux::detail
