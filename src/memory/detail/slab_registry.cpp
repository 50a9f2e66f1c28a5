#include "memory/detail/slab_registry.hpp"

#include <bit>
#include <new>

#include <coflux/base/adaptive_lock.hpp>

namespace coflux::detail {

constinit slab_registry all_slabs{.first = {}, .chunks = {all_slabs.first}, .used = 0};

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

constinit adaptive_lock lock;               // guards the next, and who writes an entry
constinit std::uint32_t free_entry = none;  // the first of a list

std::size_t chunk_of(std::uint32_t index) noexcept {
    return std::bit_width(index / slab_registry::first_entries + 1) - 1;
}

slab_registry::entry& entry_at(std::uint32_t index) noexcept {
    const std::size_t c = chunk_of(index);
    const std::size_t before = slab_registry::first_entries * ((std::size_t{1} << c) - 1);
    return all_slabs.chunks[c].load(memory_order_relaxed)[index - before];  // under the lock, as all writes
}

/// Room for one entry more. Pre: the lock is held.
bool grow(std::uint32_t index) noexcept {
    const std::size_t c = chunk_of(index);
    if (c == slab_registry::most_chunks) return false;
    if (all_slabs.chunks[c].load(memory_order_relaxed) != nullptr) return true;
    auto* const entries = new (std::nothrow) slab_registry::entry[slab_registry::first_entries << c]();
    if (entries == nullptr) return false;
    all_slabs.chunks[c].store(entries, memory_order_release);  // pairs with a reader's load: they are all 0
    return true;
}

bool enter(std::uint64_t word, std::uint32_t& index) noexcept {
    const adaptive_guard guard(lock);
    if (free_entry != none) {
        index = free_entry;
        free_entry =
            static_cast<std::uint32_t>(entry_at(index).load(memory_order_relaxed) / (slab_registry::class_bits + 1));
    } else {
        index = static_cast<std::uint32_t>(all_slabs.used.load(memory_order_relaxed));
        if (!grow(index)) return false;
        all_slabs.used.store(index + 1, memory_order_release);  // pairs with a reader's load, as that of the chunk
    }
    // release pairs with a reader's load: the header is written.
    entry_at(index).store(word, memory_order_release);
    return true;
}

}  // namespace

bool enter_slab(const void* slab, std::size_t size_class, std::uint32_t& index) noexcept {
    return enter(reinterpret_cast<std::uint64_t>(slab) | size_class, index);
}

void enter_large_block(large_block& b) noexcept {
    if (!enter(reinterpret_cast<std::uint64_t>(&b) | slab_registry::large, b.entry)) b.entry = large_block::no_entry;
}

void remove_large_block(const large_block& b) noexcept {
    if (b.entry != large_block::no_entry) remove_slab(b.entry);
}

void remove_slab(std::uint32_t index) noexcept {
    const adaptive_guard guard(lock);
    const std::uint64_t next = free_entry;
    // relaxed: a reader that sees the slab later than this reads memory that may be gone, by a call that does not mind.
    entry_at(index).store(next * (slab_registry::class_bits + 1) | slab_registry::free, memory_order_relaxed);
    free_entry = index;
}

}  // namespace coflux::detail
