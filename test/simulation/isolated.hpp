// A run in a process of its own: it may end by std::terminate, and what it leaves behind concerns no other run.
#pragma once

#include <functional>
#include <string>

namespace coflux_simulations {

/// How the process ended.
struct ending {
    int status = 0;       ///< what `run` returned; -1 if the process did not get so far
    std::string written;  ///< to stderr
};

/// Runs `run` in a child, which may take a minute. Pre: there is one thread.
ending isolated(const std::function<int()>& run);

}  // namespace coflux_simulations
