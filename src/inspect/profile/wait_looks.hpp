// Looks at all coroutines of the program, for what they wait.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "inspect/profile/stacks.hpp"
#include "inspect/snapshot.hpp"

namespace coflux::detail {

class wait_looks {
public:
    /// Adds `time` for each coroutine that waits now, or is queued. False: the system has no pages for the look.
    /// Errors: std::bad_alloc.
    bool look(std::uint64_t time, frame_names& names, stack_times& into);

private:
    using state = inspection::coroutine_state;

    std::unordered_map<std::uint64_t, frame_names::name> texts_;  // by wait_kind, or state
};

}  // namespace coflux::detail
