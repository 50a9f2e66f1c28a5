// The system calls that list a directory, and change its names. Each returns what it gives, or the negative error
// number; each may wait for the drive.
#pragma once

#include <cstddef>
#include <string_view>

namespace coflux::detail::os {

/// One entry of a directory. `type` is a DT_… of dirent.h; 0 where the file system does not say it.
struct directory_record {
    std::string_view name;
    unsigned char type;
};

/// A descriptor that is not inherited. ENOTDIR for what is no directory.
int open_directory(const char* path) noexcept;
/// Fills `into`, which is aligned as a pointer, with records. How many bytes they take; 0 at the end.
std::ptrdiff_t read_directory(int descriptor, void* into, std::size_t size) noexcept;
/// The record at `at` of what read_directory() has given. Moves `at` behind it.
[[nodiscard]] directory_record take_record(const std::byte* records, std::size_t& at) noexcept;
/// Writes one as the system does. How many bytes it takes; 0: there is no room.
std::size_t put_record(void* into, std::size_t room, const directory_record& record) noexcept;
/// In one step; what has the name `to` is replaced.
int rename_entry(int descriptor, const char* from, const char* to) noexcept;
/// EISDIR for a directory.
int remove_entry(int descriptor, const char* name) noexcept;
/// No record takes less.
inline constexpr std::size_t least_record = 24;
/// The type of an entry, a DT_…; `name` ends with a zero byte.
int type_of_entry(int descriptor, const char* name) noexcept;

}  // namespace coflux::detail::os
