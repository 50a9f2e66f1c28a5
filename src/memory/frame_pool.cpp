// Source: central free lists and spans of tcmalloc. A slab is 64 KiB, aligned to its size, and holds blocks of one class, so that
// a block finds its slab by masking its address. Everything here is a slow path: one call for a batch of blocks.
#include <coflux/memory/frame_pool.hpp>

#include <new>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/spin_lock.hpp>

namespace coflux {
namespace detail {
namespace {

constexpr std::size_t slab_bytes = std::size_t{64} * 1024;
constexpr std::size_t slab_header = 64;         // keeps 64-byte blocks aligned
constexpr std::size_t cached_bytes = 256 * 1024;  // about what one thread's list of one class may hold; twice that for a moment
constexpr std::size_t batch_bytes = 8 * 1024;   // a refill; at least 8 blocks
constexpr std::size_t spare_slabs = 1;          // empty slabs a class keeps

struct slab {
    slab* next;
    slab* previous;
    free_block* free;         // blocks that came back
    std::uint32_t untouched;  // offset of the first block never handed out, in bytes
    std::uint32_t used;       // blocks in caches or in use
};
static_assert(sizeof(slab) <= slab_header);

// Statistics only: relaxed, nothing is ordered by them.
atomic<std::size_t> slabs_acquired{0};
atomic<std::size_t> slabs_released{0};

constexpr std::size_t block_bytes(std::size_t size_class) { return (size_class + 1) * frame_cache::granule; }

constexpr std::uint32_t batch_of(std::size_t size_class) {
    const std::size_t n = batch_bytes / block_bytes(size_class);
    return static_cast<std::uint32_t>(n < 8 ? 8 : n);
}

constexpr std::uint32_t limit_of(std::size_t size_class) { return static_cast<std::uint32_t>(cached_bytes / block_bytes(size_class)); }

/// Slabs of one class. Those with a block to give are in the list `open`; full ones are in none.
class central_list {
public:
    /// Takes up to `wanted` blocks as a chain; returns how many, 0 when the heap has no slab.
    std::uint32_t take(std::size_t size_class, std::uint32_t wanted, free_block*& chain) noexcept {
        const spin_guard guard(lock_);
        const std::size_t size = block_bytes(size_class);
        std::uint32_t taken = 0;
        while (taken < wanted) {
            if (open_ == nullptr && !add_slab()) break;
            slab& from = *open_;
            if (from.used == 0) --empty_;
            while (taken < wanted && has_block(from, size)) {
                free_block* block = from.free;
                if (block != nullptr) {
                    from.free = block->next;
                } else {
                    block = reinterpret_cast<free_block*>(reinterpret_cast<char*>(&from) + from.untouched);
                    from.untouched += static_cast<std::uint32_t>(size);
                }
                block->next = chain;
                chain = block;
                ++from.used;
                ++taken;
            }
            if (!has_block(from, size)) unlink(from);
        }
        return taken;
    }

    /// Puts a chain of blocks back into their slabs and releases slabs that become empty.
    void put(std::size_t size_class, free_block* chain) noexcept {
        slab* released = nullptr;
        {
            const spin_guard guard(lock_);
            const std::size_t size = block_bytes(size_class);
            while (chain != nullptr) {
                free_block* const block = chain;
                chain = block->next;
                slab& home = *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(slab_bytes - 1));
                if (!has_block(home, size)) link(home);
                block->next = home.free;
                home.free = block;
                if (--home.used != 0) continue;
                if (empty_ < spare_slabs) {
                    ++empty_;
                } else {
                    unlink(home);
                    home.next = released;
                    released = &home;
                }
            }
        }
        release(released);
    }

    void release_spares() noexcept {
        slab* released = nullptr;
        {
            const spin_guard guard(lock_);
            for (slab* s = open_; s != nullptr;) {
                slab* const next = s->next;
                if (s->used == 0) {
                    unlink(*s);
                    s->next = released;
                    released = s;
                }
                s = next;
            }
            empty_ = 0;
        }
        release(released);
    }

private:
    static bool has_block(const slab& s, std::size_t size) noexcept { return s.free != nullptr || s.untouched + size <= slab_bytes; }

    bool add_slab() noexcept {
        void* const raw = ::operator new(slab_bytes, std::align_val_t{slab_bytes}, std::nothrow);
        if (raw == nullptr) return false;
        slabs_acquired.fetch_add(1, memory_order_relaxed);
        link(*::new (raw) slab{nullptr, nullptr, nullptr, slab_header, 0});
        ++empty_;
        return true;
    }

    static void release(slab* list) noexcept {
        while (list != nullptr) {
            slab* const next = list->next;
            ::operator delete(list, std::align_val_t{slab_bytes});
            slabs_released.fetch_add(1, memory_order_relaxed);
            list = next;
        }
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
    std::size_t empty_ = 0;  // slabs in `open_` with nothing in use
};

constinit central_list central[frame_cache::classes];

free_block* give_up_list(frame_cache::list& list) noexcept {
    free_block* const chain = list.head;
    list.head = nullptr;
    list.freed = 0;
    return chain;
}

/// Gives a thread's lists back when it ends. Frames freed by later destructors of the same thread pass the lists by (limit 0).
struct cache_cleaner {
    ~cache_cleaner() {
        for (std::size_t c = 0; c < frame_cache::classes; ++c) {
            frame_cache::list& list = this_frame_cache.lists[c];
            list.limit = 0;
            if (list.head != nullptr) central[c].put(c, give_up_list(list));
        }
        ended = true;
    }
    void touch() noexcept { touched = true; }
    bool touched = false;
    static thread_local bool ended;
};
thread_local bool cache_cleaner::ended = false;
thread_local cache_cleaner cleaner;

}  // namespace

void* refill_frame_cache(std::size_t size_class) {
    frame_cache::list& list = this_frame_cache.lists[size_class];
    std::uint32_t wanted = 1;
    if (!cache_cleaner::ended) {
        cleaner.touch();  // registers the destructor on the thread's first refill
        list.limit = limit_of(size_class);
        wanted = batch_of(size_class);
    }
    free_block* chain = nullptr;
    const std::uint32_t taken = central[size_class].take(size_class, wanted, chain);
    if (taken == 0) throw std::bad_alloc();
    list.head = chain->next;
    return chain;
}

void spill_frame_cache(void* raw, std::size_t size_class) noexcept {
    frame_cache::list& list = this_frame_cache.lists[size_class];
    auto* const block = static_cast<free_block*>(raw);
    if (list.limit == 0 && !cache_cleaner::ended) {
        // A thread that frees before it ever allocated this class, a consumer of others' frames: open its list.
        cleaner.touch();
        list.limit = limit_of(size_class);
        list.freed = 0;
    }
    block->next = list.head;
    list.head = block;
    if (list.limit == 0) {  // the thread has ended: keep nothing
        central[size_class].put(size_class, give_up_list(list));
        return;
    }
    // As many frees as the list may hold have passed since the last look: how long is it? Keep the younger half of the bound: those
    // blocks are the warm ones.
    const std::uint32_t keep = limit_of(size_class) / 2;
    free_block* last = list.head;
    std::uint32_t length = 1;
    while (length < keep && last->next != nullptr) {
        last = last->next;
        ++length;
    }
    list.freed = length;
    list.limit = limit_of(size_class);
    if (last->next == nullptr) return;
    free_block* const chain = last->next;
    last->next = nullptr;
    central[size_class].put(size_class, chain);
}

void* allocate_large_frame(std::size_t bytes, std::size_t alignment) { return ::operator new(bytes, std::align_val_t{alignment}); }

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
        if (list.head != nullptr) detail::central[c].put(c, detail::give_up_list(list));
        detail::central[c].release_spares();
    }
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
