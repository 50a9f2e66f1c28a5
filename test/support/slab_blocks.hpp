// The blocks of the frame pool's slabs, as what inspects a program sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "memory/detail/central_list.hpp"
#include "memory/detail/slab_registry.hpp"

namespace coflux_test {

inline std::uintptr_t slab_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) & ~(coflux::detail::slab_bytes - 1);
}

/// All that are entered, with their classes.
inline std::map<std::uintptr_t, std::size_t> entered_slabs() {
    using coflux::detail::all_slabs;
    using coflux::detail::slab_registry;
    std::map<std::uintptr_t, std::size_t> slabs;
    std::uint64_t index = 0;
    for (std::size_t chunk = 0; chunk < slab_registry::most_chunks; ++chunk) {
        const slab_registry::entry* const entries = all_slabs.chunks[chunk].load();
        for (std::size_t i = 0; i < slab_registry::first_entries << chunk && index < all_slabs.used.load(); ++i) {
            const std::uint64_t e = entries[i].load();
            ++index;
            const std::uint64_t size_class = e & slab_registry::class_bits;
            const bool is_large = (e & slab_registry::large) == slab_registry::large;
            if (size_class != slab_registry::free && !is_large)
                slabs.emplace(e & ~slab_registry::class_bits, size_class);
        }
    }
    return slabs;
}

/// The first byte of the block that `address` is in; nullptr if it is in no slab.
inline const void* block_of(const void* address) {
    const auto slabs = entered_slabs();
    const auto found = slabs.find(slab_of(address));
    if (found == slabs.end()) return nullptr;
    const std::size_t size = coflux::detail::block_bytes(found->second);
    const std::uintptr_t first = found->first + coflux::detail::slab_bytes - (coflux::detail::slab_bytes / size) * size;
    // Blocks are cut off from the slab's end.
    const std::uintptr_t from_first = reinterpret_cast<std::uintptr_t>(address) - first;
    return reinterpret_cast<const void*>(first + from_first / size * size);
}

/// Pre: it is a block of the pool.
inline bool has_mark_of_a_frame(const void* block) {
    return (static_cast<const std::uint64_t*>(block)[3] & 0x3f) != 0;
}

}  // namespace coflux_test
