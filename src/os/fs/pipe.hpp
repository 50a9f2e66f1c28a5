// The system calls of pipes. Each returns what it gives, or the negative error number; none blocks, and none raises
// SIGPIPE.
#pragma once

#include <cstddef>

#include "os/buffer.hpp"

namespace coflux::detail::os {

/// Two descriptors that do not block and are not inherited: to read from, to write to.
int open_pipe(int (&ends)[2]) noexcept;
/// -EINVAL for what cannot be waited for, as a file: it is no pipe, no socket and no terminal. -EBADF for what is open
/// for the other direction alone.
int check_pipe(int descriptor, bool to_write) noexcept;
std::ptrdiff_t read_some(int descriptor, const buffer* into, std::size_t buffers) noexcept;
std::ptrdiff_t write_some(int descriptor, const buffer* from, std::size_t buffers) noexcept;

/// write_some() calls it where the system does not know RWF_NOSIGNAL (before Linux 6.18): the thread blocks SIGPIPE
/// around the write, and takes the one that the write has raised. One that waited before, and one that the user blocks,
/// is left alone.
std::ptrdiff_t write_with_signal_blocked(int descriptor, const buffer* from, std::size_t buffers) noexcept;

/// How many bytes it takes.
int room_of_pipe(int descriptor) noexcept;
/// True if more than half of the descriptors that the process may have are open below this one.
[[nodiscard]] bool is_scarce(int descriptor) noexcept;
/// Moves bytes from a socket into a pipe that is empty, and from a pipe to a socket. Neither descriptor blocks.
std::ptrdiff_t splice_into_pipe(int socket, int pipe, std::size_t size) noexcept;
std::ptrdiff_t splice_from_pipe(int pipe, int socket, std::size_t size) noexcept;

}  // namespace coflux::detail::os
