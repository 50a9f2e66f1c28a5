// Operations that end without a suspension count as steps of a round.
#pragma once

#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/thread/worker.hpp>

namespace coflux::detail {

/// On a thread that is no worker, and so has no rounds: the thread of a user's executor, or that of the I/O service.
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

}  // namespace coflux::detail
