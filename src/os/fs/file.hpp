// The system calls of files. Each returns what it gives, or the negative error number. Those named `_at_once` do not
// wait for the drive; the others may.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail::os {

struct open_flags {
    bool read;
    bool write;
    bool create;
    bool exclusive;
    bool truncate;
    bool append;
    unsigned permissions;
};

/// A descriptor that is not inherited. EISDIR for a directory, ESPIPE for what has no offsets: a pipe, a socket.
int open_file(const char* path, const open_flags& flags) noexcept;
/// Gives what close(2) says; the descriptor is closed in any case.
int close_file(int descriptor) noexcept;

std::ptrdiff_t read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept;
/// Reads what the page cache has. -EAGAIN: nothing at `offset`.
std::ptrdiff_t read_at_at_once(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept;
/// A write of some bytes that moves none is an error: -ENOSPC.
std::ptrdiff_t write_at(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept;
std::ptrdiff_t write_at_at_once(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept;
/// At the end of the file, wherever that is by then.
std::ptrdiff_t append(int descriptor, const void* from, std::size_t size) noexcept;
/// True for what `_at_once` gives where the file system never answers at once.
[[nodiscard]] bool is_refused(std::ptrdiff_t result) noexcept;

int sync_file(int descriptor, bool data_only) noexcept;
std::int64_t size_of_file(int descriptor) noexcept;
int truncate_file(int descriptor, std::uint64_t size) noexcept;

/// Copies what comes next: a hole of any length, which stays one, or `most` bytes. By how many bytes both offsets have
/// moved; 0: nothing was copied, because `from` ends there, or the system cannot, or for an error.
std::uint64_t copy_part(int from, std::uint64_t from_at, int to, std::uint64_t to_at, std::size_t most) noexcept;

}  // namespace coflux::detail::os
