// Source: thread caches, transfer cache and spans of tcmalloc. A slab is 64 KiB, aligned to its size, and holds blocks
// of one class, so that a block finds its slab by masking its address. Everything here is a slow path: one short lock
// for a batch of blocks.
//
// A thread that frees more than it allocates hands over a chain, and a thread that allocates takes a whole chain:
// neither touches the blocks under the lock. Only chains beyond the reserve are sorted back into their slabs, and slabs
// that are empty go to the global heap.
#include <coflux/memory/frame_pool.hpp>

#include <cstring>
#include <new>

#include "memory/detail/central_lists.hpp"
#include "memory/detail/idle_memory.hpp"

#if COFLUX_ASAN
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#    define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

namespace coflux {
namespace detail {
namespace {

constexpr std::size_t cached_bytes =
    std::size_t{256} * 1024;  // what one thread's list of one class keeps; twice that for a moment

constexpr std::int32_t kept_of(std::size_t size_class) {
    return static_cast<std::int32_t>(cached_bytes / block_bytes(size_class));
}

}  // namespace

/// Frees a thread's lists when it ends. Frames freed by later destructors of the same thread pass the lists by.
struct cache_cleaner {
    ~cache_cleaner() {
        ended = true;
        this_frame_cache.open = false;
        for (std::size_t c = 0; c < frame_cache::classes; ++c) {
            free_block*& head = this_frame_cache.heads[c];
            if (head != nullptr) central[c].sort(c, head, pages_stay);
            head = nullptr;
        }
    }
    void touch() noexcept { touched = true; }
    bool touched = false;
    COFLUX_SHARED static inline constinit thread_local bool ended = false;
};
COFLUX_SHARED inline thread_local cache_cleaner cleaner;

namespace {

/// The first use of the cache by a thread: registers the clean-up.
void open() noexcept {
    cleaner.touch();
    this_frame_cache.open = true;
}

}  // namespace

void* refill_frame_cache(std::size_t size_class) noexcept {
    free_block* const blocks = central[size_class].take(size_class);
    if (blocks == nullptr) return nullptr;
    if (cache_cleaner::ended) {
        if (blocks->next != nullptr) central[size_class].sort(size_class, blocks->next, pages_stay);
        return blocks;
    }
    if (!this_frame_cache.open) open();
    this_frame_cache.heads[size_class] = blocks->next;
    return blocks;
}

/// Frees a block that is counted, or the first of a list. A counted block counts for the sixteen blocks of which it is
/// the one in the first page of a slab.
void count_frame_cache(void* raw, std::size_t size_class) noexcept {
    free_block*& head = this_frame_cache.heads[size_class];
    std::int32_t& frees_left = this_frame_cache.frees_left[size_class];
    auto* const block = ::new (raw) free_block(head);
    if (!this_frame_cache.open) {
        if (cache_cleaner::ended) {
            block->next = nullptr;
            return central[size_class].sort(size_class, block, pages_stay);
        }
        open();
    }
    head = block;
    if ((reinterpret_cast<std::uintptr_t>(raw) & frame_cache::page_bits) != 0) return;
    frees_left -= 16;
    if (frees_left >= 0) return;
    // As many frees as the list may hold have passed since the last look: how long is it? Keep the younger half:
    // those blocks are warm.
    frees_left = kept_of(size_class);
    const std::int32_t keep = kept_of(size_class) / 2 + 1;
    free_block* last = block;
    for (std::int32_t i = 1; i < keep; ++i) {
        last = last->next;
        if (last == nullptr) return;
    }
    free_block* const rest = last->next;
    if (rest == nullptr) return;
    last->next = nullptr;
    std::size_t count = 0;
    for (free_block* b = rest; b != nullptr; b = b->next) ++count;
    central[size_class].put(size_class, rest, count);
}

void* allocate_checked_frame(std::size_t bytes, std::size_t alignment) {
    if constexpr (COFLUX_ASAN) {
        void* const taken = allocate_large_frame(bytes, alignment);
        if (taken == nullptr) throw_bad_alloc();
        return taken;
    } else {
        return allocate_pooled(bytes, alignment);
    }
}

void deallocate_checked_frame(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (COFLUX_ASAN) {
        deallocate_large_frame(block, bytes, alignment);
    } else {
        deallocate_pooled(block, bytes, alignment);
    }
}

namespace {

/// Where a large block begins behind its header: as far as keeps it aligned.
constexpr std::size_t large_offset(std::size_t alignment) noexcept {
    return alignment > slab_header ? alignment : slab_header;
}
static_assert(sizeof(large_block) <= slab_header);

}  // namespace

void* allocate_large_frame(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t offset = large_offset(alignment);
    if (bytes > ~std::size_t{0} - offset) return nullptr;
    void* const base = ::operator new(offset + bytes, std::align_val_t{offset}, std::nothrow);
    if (base == nullptr) return nullptr;
    char* const block = static_cast<char*>(base) + offset;
    // The memory may look like a frame that was there before.
    std::memset(block, 0, bytes < 2 * sizeof(free_block) ? bytes : 2 * sizeof(free_block));
    auto& header = *::new (base) large_block{bytes, static_cast<std::uint32_t>(offset), large_block::no_entry};
    enter_large_block(header);
    ASAN_POISON_MEMORY_REGION(base, offset);
    return block;
}

void throw_bad_alloc() {
    throw std::bad_alloc();
}

void deallocate_large_frame(void* block, std::size_t, std::size_t alignment) noexcept {
    const std::size_t offset = large_offset(alignment);
    void* const base = static_cast<char*>(block) - offset;
    ASAN_UNPOISON_MEMORY_REGION(base, offset);
    remove_large_block(*static_cast<large_block*>(base));
    ::operator delete(base, std::align_val_t{offset});
}

}  // namespace detail

frame_pool& frame_pool::shared() noexcept {
    alignas(frame_pool) static char storage[sizeof(frame_pool)];
    static frame_pool* const pool = ::new (storage) frame_pool;
    return *pool;
}

void frame_pool::trim() noexcept {
    constexpr auto never = [] { return false; };
    const detail::idle_question interrupted(never);
    detail::give_back_lists(interrupted);
    for (std::size_t size_class = 0; detail::give_back_chain(size_class, interrupted);) {}
}

void frame_pool::set_reserve_limit(std::size_t bytes) noexcept {
    detail::reserve_limit.store(bytes, detail::memory_order_relaxed);
}

frame_pool_stats frame_pool::stats() const noexcept {
    const std::size_t released = detail::slabs_released.load(detail::memory_order_relaxed);
    const std::size_t acquired = detail::slabs_acquired.load(detail::memory_order_relaxed);
    return {(acquired - released) * detail::slab_bytes, acquired, released};
}

void* frame_pool::do_allocate(std::size_t bytes, std::size_t alignment) {
    return detail::allocate_pooled(bytes == 0 ? 1 : bytes, alignment);
}

void frame_pool::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    detail::deallocate_pooled(block, bytes == 0 ? 1 : bytes, alignment);
}

}  // namespace coflux
