// Source: thread caches, transfer cache and spans of tcmalloc. A slab is 64 KiB, aligned to its size, and holds
// blocks of one class, so
// that a block finds its slab by masking its address. Everything here is a slow path: one short lock for a batch of
// blocks.
//
// A thread that frees more than it allocates hands over a chain, and a thread that allocates takes a whole chain:
// neither touches the blocks
// under the lock. Only chains beyond the reserve are sorted back into their slabs, and slabs that are empty go to
// the global heap.
#include <coflux/memory/frame_pool.hpp>

#include <new>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/spin_lock.hpp>

namespace coflux {
namespace detail {
namespace {

constexpr std::size_t slab_bytes = std::size_t{64} * 1024;
constexpr std::size_t slab_header = 64;  // keeps 64-byte blocks aligned
constexpr std::size_t cached_bytes =
    std::size_t{256} * 1024;  // what one thread's list of one class keeps; twice that for a moment
constexpr std::size_t batch_bytes = std::size_t{8} * 1024;  // what a refill takes from a slab; at least 8 blocks

struct slab {
    slab* next;
    slab* previous;
    free_block* free;  // blocks that came back
    std::uint32_t
        untouched;       // end of the room never handed out, as an offset; blocks are cut off from above, so that a
                         // loop that uses one block again and again does not use one of the counted page
    std::uint32_t used;  // blocks in caches, chains or use
};
static_assert(sizeof(slab) <= slab_header);

/// Blocks that change threads together; lies in the first of them.
struct chain {
    free_block* rest;  // where free_block::next is
    chain* next;
    std::size_t bytes;
};
static_assert(sizeof(chain) <= frame_cache::granule);

// Statistics only: relaxed, nothing is ordered by them.
atomic<std::size_t> slabs_acquired{0};
atomic<std::size_t> slabs_released{0};
atomic<std::size_t> reserved{0};  // bytes in chains
atomic<std::size_t> reserve_limit{std::size_t{256} * 1024 * 1024};

constexpr std::size_t block_bytes(std::size_t size_class) {
    return (size_class + 1) * frame_cache::granule;
}

constexpr std::size_t batch_of(std::size_t size_class) {
    const std::size_t n = batch_bytes / block_bytes(size_class);
    return n < 8 ? 8 : n;
}

constexpr std::int32_t kept_of(std::size_t size_class) {
    return static_cast<std::int32_t>(cached_bytes / block_bytes(size_class));
}

/// Slabs and chains of one class. Slabs with a block to give are in the list `open`; full ones are in none.
class central_list {
public:
    /// Takes blocks: a chain if there is one, else a batch from a slab. nullptr when the heap has no slab.
    free_block* take(std::size_t size_class) noexcept {
        const std::size_t size = block_bytes(size_class);
        char* fresh = nullptr;
        std::size_t count = 0;
        {
            const spin_guard guard(lock_);
            if (chain* const c = chains_) {
                chains_ = c->next;
                reserved.fetch_sub(c->bytes, memory_order_relaxed);
                return reinterpret_cast<free_block*>(c);
            }
            if (open_ == nullptr && !add_slab()) return nullptr;
            slab& from = *open_;
            if (from.free != nullptr) {
                free_block* const taken = from.free;
                free_block* last = taken;
                for (count = 1; count < batch_of(size_class) && last->next != nullptr; ++count) last = last->next;
                from.free = last->next;
                last->next = nullptr;
                from.used += static_cast<std::uint32_t>(count);
                if (!has_block(from, size)) unlink(from);
                return taken;
            }
            count = (from.untouched - slab_header) / size;
            if (count > batch_of(size_class)) count = batch_of(size_class);
            from.untouched -= static_cast<std::uint32_t>(count * size);
            fresh = reinterpret_cast<char*>(&from) + from.untouched;
            from.used += static_cast<std::uint32_t>(count);
            if (!has_block(from, size)) unlink(from);
        }
        // Pages are touched for the first time here, outside the lock.
        free_block* list = nullptr;
        for (std::size_t i = count; i-- != 0;) list = ::new (fresh + i * size) free_block{list};
        return list;
    }

    /// Keeps a chain for other threads, or sorts its blocks into their slabs if the reserve is full.
    void put(std::size_t size_class, free_block* blocks, std::size_t count) noexcept {
        const std::size_t bytes = count * block_bytes(size_class);
        if (reserved.fetch_add(bytes, memory_order_relaxed) + bytes > reserve_limit.load(memory_order_relaxed)) {
            reserved.fetch_sub(bytes, memory_order_relaxed);
            return sort(size_class, blocks);
        }
        auto* const c = ::new (static_cast<void*>(blocks)) chain{blocks->next, nullptr, bytes};
        const spin_guard guard(lock_);
        c->next = chains_;
        chains_ = c;
    }

    /// Sorts all chains into their slabs.
    void give_back(std::size_t size_class) noexcept {
        for (;;) {
            free_block* blocks = nullptr;
            {
                const spin_guard guard(lock_);
                if (chains_ == nullptr) return;
                blocks = reinterpret_cast<free_block*>(chains_);
                reserved.fetch_sub(chains_->bytes, memory_order_relaxed);
                chains_ = chains_->next;
            }
            sort(size_class, blocks);
        }
    }

    /// Puts blocks back into their slabs; slabs that become empty go to the heap.
    void sort(std::size_t size_class, free_block* blocks) noexcept {
        const std::size_t size = block_bytes(size_class);
        slab* released = nullptr;
        {
            const spin_guard guard(lock_);
            while (blocks != nullptr) {
                free_block* const block = blocks;
                blocks = block->next;
                slab& home = *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(slab_bytes - 1));
                if (!has_block(home, size)) link(home);
                block->next = home.free;
                home.free = block;
                if (--home.used != 0) continue;
                unlink(home);
                home.next = released;
                released = &home;
            }
        }
        while (released != nullptr) {
            slab* const next = released->next;
            ::operator delete(released, std::align_val_t{slab_bytes});
            slabs_released.fetch_add(1, memory_order_relaxed);
            released = next;
        }
    }

private:
    static bool has_block(const slab& s, std::size_t size) noexcept {
        return s.free != nullptr || s.untouched >= slab_header + size;
    }

    bool add_slab() noexcept {
        void* const raw = ::operator new(slab_bytes, std::align_val_t{slab_bytes}, std::nothrow);
        if (raw == nullptr) return false;
        slabs_acquired.fetch_add(1, memory_order_relaxed);
        link(*::new (raw) slab{nullptr, nullptr, nullptr, slab_bytes, 0});
        return true;
    }
    void link(slab& s) noexcept {
        s.previous = nullptr;
        s.next = open_;
        if (open_ != nullptr) open_->previous = &s;
        open_ = &s;
    }
    void unlink(slab& s) noexcept {
        (s.previous != nullptr ? s.previous->next : open_) = s.next;
        if (s.next != nullptr) s.next->previous = s.previous;
    }

    spin_lock lock_;
    slab* open_ = nullptr;
    chain* chains_ = nullptr;
};

constinit central_list central[frame_cache::classes];

/// Gives a thread's lists back when it ends. Frames freed by later destructors of the same thread pass the lists by.
struct cache_cleaner {
    ~cache_cleaner() {
        ended = true;
        for (std::size_t c = 0; c < frame_cache::classes; ++c) {
            frame_cache::list& list = this_frame_cache.lists[c];
            list.counted = 0;
            if (list.head != nullptr) central[c].sort(c, list.head);
            list.head = nullptr;
        }
    }
    void touch() noexcept { touched = true; }
    bool touched = false;
    static thread_local bool ended;
};
thread_local bool cache_cleaner::ended = false;
thread_local cache_cleaner cleaner;

/// The first use of a list by a thread: registers the clean-up.
void open(frame_cache::list& list, std::size_t size_class) noexcept {
    cleaner.touch();
    list.frees_left = kept_of(size_class);
    list.counted = frame_cache::page_bits;
}

}  // namespace

void* refill_frame_cache(std::size_t size_class) noexcept {
    frame_cache::list& list = this_frame_cache.lists[size_class];
    free_block* const blocks = central[size_class].take(size_class);
    if (blocks == nullptr) return nullptr;
    if (cache_cleaner::ended) {
        if (blocks->next != nullptr) central[size_class].sort(size_class, blocks->next);
        return blocks;
    }
    if (list.counted == 0) open(list, size_class);
    list.head = blocks->next;
    return blocks;
}

/// Frees a block, and counts it for the sixteen of which it is the one in the first page of a slab.
void count_frame_cache(void* raw, std::size_t size_class) noexcept {
    frame_cache::list& list = this_frame_cache.lists[size_class];
    auto* const block = ::new (raw) free_block{list.head};
    if (list.counted == 0) {
        if (cache_cleaner::ended) {
            block->next = nullptr;
            return central[size_class].sort(size_class, block);
        }
        open(list, size_class);
    }
    list.frees_left -= 16;
    if (list.frees_left >= 0) {
        list.head = block;
        return;
    }
    // As many frees as the list may hold have passed since the last look: how long is it? Keep the younger half:
    // those blocks are warm.
    list.head = block;
    open(list, size_class);
    const std::int32_t keep = kept_of(size_class) / 2 + 1;
    free_block* last = block;
    for (std::int32_t i = 1; i < keep && last->next != nullptr; ++i) last = last->next;
    if (last->next == nullptr) return;
    free_block* const rest = last->next;
    last->next = nullptr;
    std::size_t count = 0;
    for (free_block* b = rest; b != nullptr; b = b->next) ++count;
    central[size_class].put(size_class, rest, count);
}

void* allocate_large_frame(std::size_t bytes, std::size_t alignment) noexcept {
    return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
}

void throw_bad_alloc() {
    throw std::bad_alloc();
}

void deallocate_large_frame(void* block, std::size_t, std::size_t alignment) noexcept {
    ::operator delete(block, std::align_val_t{alignment});
}

}  // namespace detail

frame_pool& frame_pool::shared() noexcept {
    alignas(frame_pool) static char storage[sizeof(frame_pool)];
    static frame_pool* const pool = ::new (storage) frame_pool;
    return *pool;
}

void frame_pool::trim() noexcept {
    for (std::size_t c = 0; c < detail::frame_cache::classes; ++c) {
        detail::frame_cache::list& list = detail::this_frame_cache.lists[c];
        if (list.head != nullptr) detail::central[c].sort(c, list.head);
        list.head = nullptr;
        detail::central[c].give_back(c);
    }
}

void frame_pool::keep_in_reserve(std::size_t bytes) noexcept {
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
