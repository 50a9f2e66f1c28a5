// Words of memory that was copied, or that the system is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "inspect/layout.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::detail::inspection {

inline constexpr const debug_layout& at = coflux_debug_layout;

template <typename T = std::uint64_t>
T load(const char* from, std::size_t offset = 0) noexcept {
    T value;
    std::memcpy(&value, from + offset, sizeof value);
    return value;
}

inline bool read(std::uint64_t from, void* into, std::size_t size) noexcept {
    const os::memory_piece piece{from, size};
    return os::read_own_memory(&piece, 1, into) == size;
}

inline bool read_word(std::uint64_t from, std::uint64_t& word) noexcept {
    return read(from, &word, sizeof word);
}

inline std::size_t cache_place(std::uint64_t address, std::size_t size) noexcept {
    return (address * 0x9e3779b97f4a7c15U >> 32) % size;
}

}  // namespace coflux::detail::inspection
