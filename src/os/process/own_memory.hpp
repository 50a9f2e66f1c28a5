// Memory of this process, read by the system: what is not there is refused, and nothing else is touched. All of it may
// be called in the handler of a signal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail::os {

struct memory_piece {
    std::uintptr_t from;
    std::size_t size;
};
/// Copies the pieces, one behind the other, and ends at the first byte that cannot be read. The bytes that were copied;
/// 0 also where the system does not do this at all.
std::size_t read_own_memory(const memory_piece* pieces, std::size_t count, void* into) noexcept;
/// True if the system lets the process read its own memory.
[[nodiscard]] bool can_read_own_memory() noexcept;

/// Whole pages that are 0, and take memory when they are written; nullptr: there are none.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* begin, std::size_t bytes) noexcept;

/// A part of the program or of a library.
struct mapped_part {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool executable;
};
/// The parts that are mapped from files, by address, as many as fit; how many those are. Parts that touch are one.
std::size_t own_mapped_parts(mapped_part* parts, std::size_t most) noexcept;

/// All of it; false for an error.
bool write_all(int descriptor, const char* from, std::size_t size) noexcept;

/// For std::errno, which a handler must leave as it was.
class kept_errno {
public:
    kept_errno() noexcept;
    ~kept_errno();
    kept_errno(const kept_errno&) = delete;
    kept_errno& operator=(const kept_errno&) = delete;

private:
    int value_;
};

}  // namespace coflux::detail::os
