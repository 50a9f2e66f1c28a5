// Deadlines act: what is made in an environment with a deadline is stopped when it passes.
//
// make_environment(here, t) derives such an environment, this_coroutine::deadline() asks for the nearest one, and
// coflux::deadline(awaitable, t) (timeout.hpp) is for one operation.
#pragma once

#include <coflux/time/timeout.hpp>

namespace coflux::detail {

/// Tells the core. Costs: nothing after the first call.
bool let_deadlines_act() noexcept;

/// Before main, wherever this header is included.
[[maybe_unused]] inline const bool deadlines_act = let_deadlines_act();

}  // namespace coflux::detail
