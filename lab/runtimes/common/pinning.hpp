// A CPU for a thread, for the workloads that have one thread for each CPU: Linux may leave new threads together on one
// CPU for longer than such a workload takes.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace harness {

// Keeps the calling thread on one of the CPUs that the process may use, counted from 0, modulo their number. Does
// nothing where the system refuses. The main thread is the process's measure, so it must not be pinned itself.
void pin_this_thread(std::size_t cpu) noexcept;

// Moves this process, which has one thread, to the CPUs that the other may not run on. Returns whether there are any;
// where there are none it stays where it is.
bool move_beside(pid_t other) noexcept;

// Keeps the calling thread, and those that it makes from now on, on the first `cpus` of those that the process may use:
// before a pool is made. Throws std::system_error where the system refuses.
void stay_on(std::size_t cpus);

}  // namespace harness
