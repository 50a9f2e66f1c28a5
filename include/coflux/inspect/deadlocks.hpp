// Which coroutines wait for each other, so that none of them goes on.
#pragma once

#include <string>
#include <vector>

namespace coflux::inspect {

/// Finds each cycle of waits: a coroutine waits for a mutex, for the end of another coroutine or for those of its
/// children, and what it waits for waits in turn, in the end for the first. Nothing but a stop, as that of a timeout,
/// lets one of them go on.
///
/// A mutex is followed to the coroutine that has locked it by `co_await m.lock()` and has not moved the guard since.
/// Channels, semaphores and other primitives are not followed: any coroutine may send, receive or release. A wait for
/// one of several, and one with a limit, are not followed either. Where several cycles lead through one join of several
/// children, one of them is there.
///
/// Returns: a text for each cycle, with a line for each of its coroutines; nothing where a dump finds nothing.
/// Errors: std::bad_alloc.
/// Threads: as dump().
/// Costs: as dump(), and 16 bytes more a coroutine meanwhile. A cycle is looked at several times before it is named:
/// coroutines that lock and unlock meanwhile are in none.
/// Example: examples/65_dump.cpp
[[nodiscard]] std::vector<std::string> deadlocks();

}  // namespace coflux::inspect
