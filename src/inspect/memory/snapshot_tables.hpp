// The tables that the steps of a snapshot share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inspect/snapshot.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::detail::inspection {

/// Needed while the snapshot is taken; in pages of the system.
struct snapshot::tables {
    os::mapped_part parts[most_parts];
    std::size_t part_count;
    std::size_t last_part[2];  // of a look for data, and for code
    known_object objects[cached];
    known_waiter waiters[cached];
    known_kind kinds[cached];
    known_holder holders[cached];
    std::uint64_t seen_parents[cached];
    char copies[bytes_at_once];
};

/// A number for the words that must be the same at the second look.
std::uint32_t print_of(const char* control) noexcept;

}  // namespace coflux::detail::inspection
