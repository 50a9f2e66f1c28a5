// Where the frame pool's slabs are, for a reader that takes no lock: what inspects a program finds its frames by it.
//
//     chunks   [0] 1024 entries   [1] 2048   [2] 4096 …          never freed, so that a reader needs no permission
//     entry    address of a slab | class        in use; written once the slab's header is
//              index of the next << 6 | free    free
//
// The page docs/design/inspect.md has the reader.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail {

struct slab_registry {
    using entry = atomic<std::uint64_t>;

    static constexpr std::size_t first_entries = 1024;
    static constexpr std::size_t most_chunks = 21;     // 128 TiB of slabs
    static constexpr std::uint64_t class_bits = 0x3f;  // of an entry; a slab is aligned to more
    static constexpr std::uint64_t free = class_bits;  // no class: those are fewer

    entry first[first_entries];
    atomic<entry*> chunks[most_chunks];  // nullptr: not needed yet
    atomic<std::uint64_t> used;          // entries before it have been used once
};

extern constinit slab_registry all_slabs;

/// Enters a slab whose header is written, but for `index`, which is where it is entered. False for want of memory.
bool enter_slab(const void* slab, std::size_t size_class, std::uint32_t& index) noexcept;
/// Before the slab's memory goes.
void remove_slab(std::uint32_t index) noexcept;

}  // namespace coflux::detail
