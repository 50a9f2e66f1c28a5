// The system calls of pipes. Each returns what it gives, or the negative error number; none blocks, and none raises
// SIGPIPE.
#pragma once

#include <cstddef>

#include "buffer.hpp"

namespace coflux::detail::os {

/// Two descriptors that do not block and are not inherited: to read from, to write to.
int open_pipe(int (&ends)[2]) noexcept;
/// -EINVAL for what cannot be waited for, as a file: it is no pipe, no socket and no terminal. -EBADF for what is open
/// for the other direction alone.
int check_pipe(int descriptor, bool to_write) noexcept;
std::ptrdiff_t read_some(int descriptor, const buffer* into, std::size_t buffers) noexcept;
std::ptrdiff_t write_some(int descriptor, const buffer* from, std::size_t buffers) noexcept;

/// What write_some() does where the system does not know RWF_NOSIGNAL (before Linux 6.18): the thread blocks SIGPIPE
/// around the write, and takes the one that the write has raised. One that waited before, and one that the user blocks,
/// is left alone.
std::ptrdiff_t write_with_signal_blocked(int descriptor, const buffer* from, std::size_t buffers) noexcept;

}  // namespace coflux::detail::os
