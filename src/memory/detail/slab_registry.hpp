// Where the frame pool's slabs and large blocks are, for a reader that takes no lock: what inspects a program finds its
// frames by it.
//
//     chunks   [0] 1024 entries   [1] 2048   [2] 4096 …          never freed, so that a reader needs no permission
//     entry    address of a slab | class        in use; written once the slab's header is
//              address of a large_block | large in use; no address has these bits, so a leak checker takes it for none
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
    static constexpr std::uint64_t large = std::uint64_t{0xff} << 56;

    entry first[first_entries];
    atomic<entry*> chunks[most_chunks];  // nullptr: not needed yet
    atomic<std::uint64_t> used;          // entries before it have been used once
};

extern constinit slab_registry all_slabs;

/// Enters a slab whose header is written, but for `index`, which is where it is entered. False for want of memory.
bool enter_slab(const void* slab, std::size_t size_class, std::uint32_t& index) noexcept;
/// Before the slab's memory goes.
void remove_slab(std::uint32_t index) noexcept;

/// In front of a block that is in no slab: one of more than the largest class, and under AddressSanitizer each.
struct large_block {
    std::uint64_t bytes;   // of the block
    std::uint32_t offset;  // of the block from here
    std::uint32_t entry;   // in the slab_registry; no_entry for want of memory

    static constexpr std::uint32_t no_entry = ~std::uint32_t{0};
};
/// enter_slab() and remove_slab() of such a block, which keeps its entry.
void enter_large_block(large_block& b) noexcept;
void remove_large_block(const large_block& b) noexcept;

}  // namespace coflux::detail
