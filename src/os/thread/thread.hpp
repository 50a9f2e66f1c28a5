// The runtime's calls of the operating system for threads. Only src/os includes the headers of the system.
#pragma once

#include <cstddef>
#include <vector>

#include <coflux/base/thread.hpp>

namespace coflux::detail::os {

/// Names the calling thread; cut to what the system allows.
void name_this_thread(const char* name) noexcept;

/// Binds the calling thread to the n-th processor that the process may use, modulo their number; false if the system
/// refuses.
bool pin_this_thread(std::size_t n) noexcept;

/// Binds the calling thread to the processor of that number; false if the system refuses.
bool bind_this_thread(unsigned processor) noexcept;

/// The numbers of the processors that the calling thread may use by its affinity, in ascending order; none where the
/// system does not say. Errors: std::bad_alloc.
std::vector<unsigned> allowed_processors();

/// Asks the system to end this thread's sleeps when they are over, not up to 50 us later so that several end together.
void expect_precise_wake_ups() noexcept;

/// Keeps a thread of the parent in the child of a fork(): it is not there, and the system may have given its name to a
/// new thread. So it is neither joined nor detached.
void keep_thread_of_parent(thread&& of_parent) noexcept;

/// Number of processors that the process may use, by its affinity and by the quota of its control groups; at least 1.
std::size_t usable_processors() noexcept;

}  // namespace coflux::detail::os
