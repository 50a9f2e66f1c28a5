// The default resource of coroutine frames: per-thread free lists by size class over slabs for all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include <coflux/base/config.hpp>

namespace coflux {

/// The contents of the frame pool, summed over all threads; a snapshot that is exact when nothing allocates.
struct frame_pool_stats {
    std::size_t slab_bytes;      ///< bytes of slabs taken from the global heap and not yet released
    std::size_t slabs_acquired;  ///< slabs ever taken
    std::size_t slabs_released;  ///< slabs ever released to it
};

/// The process-wide resource that environments use unless they are given another.
///
/// Blocks up to 4032 bytes come from the calling thread's free list of their 64-byte class: no two share a cache line,
/// as two threads may write them. A block may be freed on any thread, and goes to that thread's list. A list that grows
/// beyond 256 KiB hands half to a reserve for all threads. Blocks beyond the reserve go back to the slabs, an
/// empty slab to the global heap. When a thread ends, its lists go to the slabs. Larger or stricter aligned blocks go
/// to the global heap.
///
/// Errors: std::bad_alloc when the global heap has no slab.
/// Threads: all functions from any thread.
/// Costs: 2 to 3 ns a block on the fast path; no atomic, no lock. A refill or a spill takes one short lock for a batch.
/// Source: the thread caches and central lists of tcmalloc.
class frame_pool final : public std::pmr::memory_resource {
public:
    /// The one pool of the process.
    /// Lifetime: never destroyed, so that static objects may hold frames.
    static frame_pool& shared() noexcept;

    frame_pool(const frame_pool&) = delete;
    frame_pool& operator=(const frame_pool&) = delete;

    /// Gives the calling thread's free lists and the reserve back to the slabs, the pages of empty slabs to the system,
    /// and the slabs to the global heap.
    void trim() noexcept;

    /// Sets how many bytes of free blocks the reserve for all threads keeps; 256 MiB unless it is set. A burst beyond
    /// it pays for its pages again each time. Does not release what is there: trim() does.
    void set_reserve_limit(std::size_t bytes) noexcept;

    [[nodiscard]] frame_pool_stats stats() const noexcept;

private:
    frame_pool() = default;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept override;
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

namespace detail {

/// A block that is not in use. Its link is where a frame keeps a word that is never 0 in its six low bits. They are 0
/// here, as each block is aligned to a cache line: so a reader of the memory tells a frame from what a frame has left.
struct free_block {
    std::uint64_t unused[3];  // as the block's last user left them
    free_block* next;

    COFLUX_INLINE explicit free_block(free_block* n) noexcept : next(n) {}
};

/// One thread's free lists. Trivial, so that access needs no guard; closed, which is all zero, until the thread
/// registered its clean-up, and again after that.
struct alignas(64) frame_cache {
    static constexpr std::size_t granule = 64;  ///< a cache line, and the strictest alignment that it serves
    static constexpr std::size_t classes = 63;  ///< a block of one more does not fit into a slab's first page
    static constexpr std::size_t largest = granule * classes;
    /// Clear in addresses within the first of a slab's 16 pages: those of the blocks that are counted.
    static constexpr std::uint32_t page_bits = 0xf000;

    /// A word that code which frees a block leaves for the next that runs on this thread: a coroutine's result. It lies
    /// beside the first lists' heads, because a processor takes two stores at once where they are to one cache line.
    std::uint64_t word_left;
    free_block* heads[classes];        ///< of the lists; side by side, so that a class is an index as it is
    std::int32_t frees_left[classes];  ///< until a list's length is looked at again, about
    bool open;                         ///< what is not has empty lists
};

COFLUX_SHARED inline constinit thread_local frame_cache this_frame_cache{};

// These give nullptr for want of memory.
COFLUX_ASIDE void* refill_frame_cache(std::size_t size_class) noexcept;
COFLUX_ASIDE void count_frame_cache(void* block, std::size_t size_class) noexcept;

/// Class of a block, or `classes` and more when the pool does not serve it from its lists.
COFLUX_INLINE constexpr std::size_t frame_class(std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > frame_cache::granule) return frame_cache::classes;
    return (bytes - 1) / frame_cache::granule;
}

// Under AddressSanitizer the library says where frames come from: from the heap if it was built with it, too; else from
// the lists.
COFLUX_NOINLINE void* allocate_checked_frame(std::size_t bytes, std::size_t alignment);
COFLUX_NOINLINE void deallocate_checked_frame(void* block, std::size_t bytes, std::size_t alignment) noexcept;
COFLUX_ASIDE void* allocate_large_frame(std::size_t bytes, std::size_t alignment) noexcept;
[[noreturn]] COFLUX_COLD void throw_bad_alloc();
COFLUX_NOINLINE void deallocate_large_frame(void* block, std::size_t bytes, std::size_t alignment) noexcept;

/// The pool's allocate, inline: what operator new of a coroutine calls when its environment names no other resource.
COFLUX_INLINE void* allocate_pooled(std::size_t bytes, std::size_t alignment) {
    if (COFLUX_ASAN) return allocate_checked_frame(bytes, alignment);
    const std::size_t c = frame_class(bytes, alignment);
    void* taken = nullptr;
    if (c >= frame_cache::classes) [[unlikely]] {
        taken = allocate_large_frame(bytes, alignment);
    } else {
        free_block* const block = this_frame_cache.heads[c];
        if (block != nullptr) [[likely]] {
            this_frame_cache.heads[c] = block->next;
            return block;
        }
        taken = refill_frame_cache(c);
    }
    if (taken == nullptr) [[unlikely]]
        throw_bad_alloc();
    return taken;
}

/// Frees a block of one of the pool's classes.
COFLUX_INLINE void deallocate_class(void* raw, std::size_t c) noexcept {
    // One in 16 of the blocks of a slab is counted, for all: no store for a counter on the other blocks. An empty list
    // may be that of a cache that is not open. The head is stored first, next to what was stored before it (word_left).
    free_block* const head = this_frame_cache.heads[c];
    if ((reinterpret_cast<std::uintptr_t>(raw) & frame_cache::page_bits) == 0 || head == nullptr) [[unlikely]]
        return count_frame_cache(raw, c);
    auto* const block = static_cast<free_block*>(raw);
    this_frame_cache.heads[c] = block;
    block->next = head;
}

COFLUX_INLINE void deallocate_pooled(void* raw, std::size_t bytes, std::size_t alignment) noexcept {
    if (COFLUX_ASAN) return deallocate_checked_frame(raw, bytes, alignment);
    const std::size_t c = frame_class(bytes, alignment);
    if (c >= frame_cache::classes) [[unlikely]]
        return deallocate_large_frame(raw, bytes, alignment);
    deallocate_class(raw, c);
}

}  // namespace detail
}  // namespace coflux
