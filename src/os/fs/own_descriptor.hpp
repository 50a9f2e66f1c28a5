// Descriptors that no program asked for: they stay off the numbers of the standard streams.
#pragma once

namespace coflux::detail::os {

/// Where a program has closed a standard stream, the system gives its number to what is opened next: what the program
/// prints would come there, and children would have it as their stream.
/// Returns: `opened`, or a copy above those numbers, and then that is closed; a negative `opened` as it is; the
/// negative error number, and then all is closed. The result is not inherited.
int above_standard_streams(int opened) noexcept;

/// pipe2() with `flags` and O_CLOEXEC, above the standard streams: to read from, to write to.
int open_own_pipe(int (&ends)[2], int flags) noexcept;

}  // namespace coflux::detail::os
