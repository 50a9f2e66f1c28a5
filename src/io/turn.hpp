// What ends without a suspension counts as one of the resumptions of a round.
#pragma once

#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/thread/worker.hpp>

namespace coflux::detail {

/// Of a thread that is no worker, and so has no rounds: the thread of a user's executor, or that of the I/O service.
inline constexpr unsigned most_steps_in_a_row = 60;
inline constinit thread_local unsigned steps_left_in_a_row = most_steps_in_a_row;

/// A coroutine has done `steps` without a suspension: true if its round is over, and others should run.
inline bool spend_steps(unsigned steps) noexcept {
    if (worker* const w = this_thread.queues; w != nullptr) {
        bool over = false;
        for (; steps != 0; --steps) over = !w->spend_tick();
        return over;
    }
    if (steps < steps_left_in_a_row) {
        steps_left_in_a_row -= steps;
        return false;
    }
    steps_left_in_a_row = most_steps_in_a_row;
    return true;
}

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
