// The common part of the frame pool's threads: slabs, and chains of blocks that change threads, of one size class.
//
// Source: transfer cache and spans of tcmalloc. A slab is 64 KiB, aligned to its size, and holds blocks of one class,
// so that a block finds its slab by masking its address. Everything here is a slow path: one short lock for a batch of
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "base/pages.hpp"
#include "memory/detail/slab_registry.hpp"

namespace coflux::detail {

inline constexpr std::size_t slab_bytes = std::size_t{64} * 1024;
inline constexpr std::size_t slab_header = 64;                     // keeps 64-byte blocks aligned
inline constexpr std::size_t batch_bytes = std::size_t{8} * 1024;  // what a refill takes from a slab; at least 8 blocks

struct slab {
    slab* next;
    slab* previous;
    free_block* free;  // blocks that came back
    std::uint32_t
        untouched;        // end of the room never handed out, as an offset; blocks are cut off from above, so that a
                          // loop that uses one block again and again does not use one of the counted page
    std::uint32_t used;   // blocks in caches, chains or use
    std::uint32_t entry;  // in the slab_registry
};
static_assert(sizeof(slab) <= slab_header);

/// Blocks that change threads together; lies in the first of them.
struct chain {
    chain* next;
    std::size_t bytes;
    std::uint64_t unused;
    free_block* rest;  // where free_block::next is

    chain(free_block* blocks, std::size_t size) noexcept : next(nullptr), bytes(size), rest(blocks) {}
};
static_assert(sizeof(chain) <= frame_cache::granule && offsetof(chain, rest) == offsetof(free_block, next));

// Statistics only: relaxed, nothing is ordered by them.
inline constinit atomic<std::size_t> slabs_acquired{0};
inline constinit atomic<std::size_t> slabs_released{0};
inline constinit atomic<std::size_t> reserved{0};        // bytes in chains
inline constinit atomic<std::uint64_t> reserve_uses{0};  // chains that a thread took or put
inline constinit atomic<std::size_t> reserve_limit{std::size_t{256} * 1024 * 1024};

constexpr std::size_t block_bytes(std::size_t size_class) {
    return (size_class + 1) * frame_cache::granule;
}

constexpr std::size_t batch_of(std::size_t size_class) {
    const std::size_t n = batch_bytes / block_bytes(size_class);
    return n < 8 ? 8 : n;
}

/// An answer to `pages_go()`, which is asked before a slab goes to the heap: whether its pages go to the system, as the
/// heap may keep what it is given. Pages that were in use until now stay, for it may be wanted again soon.
inline constexpr auto pages_stay = [] { return false; };

/// Slabs and chains of one class. Slabs with a block to give are in the list `open`; full ones are in none.
class central_list {
public:
    /// Takes blocks: a chain if there is one, else a batch from a slab. nullptr when the heap has no slab.
    free_block* take(std::size_t size_class) noexcept {
        const std::size_t size = block_bytes(size_class);
        char* fresh = nullptr;
        std::size_t count = 0;
        {
            // [frame_pool.take.lock]
            const adaptive_guard guard(lock_);
            if (chain* const c = chains_.pop()) {
                // [frame_pool.take.reserved]
                reserved.fetch_sub(c->bytes, memory_order_relaxed);
                reserve_uses.fetch_add(1, memory_order_relaxed);
                return reinterpret_cast<free_block*>(c);
            }
            if (open_.empty() && !add_slab(size_class)) return nullptr;
            slab& from = *open_.front();
            if (from.free != nullptr) {
                free_block* const taken = from.free;
                free_block* last = taken;
                for (count = 1; count < batch_of(size_class) && last->next != nullptr; ++count) last = last->next;
                from.free = last->next;
                last->next = nullptr;
                from.used += static_cast<std::uint32_t>(count);
                if (!has_block(from, size)) open_.remove(from);
                return taken;
            }
            count = (from.untouched - slab_header) / size;
            if (count > batch_of(size_class)) count = batch_of(size_class);
            from.untouched -= static_cast<std::uint32_t>(count * size);
            fresh = reinterpret_cast<char*>(&from) + from.untouched;
            from.used += static_cast<std::uint32_t>(count);
            if (!has_block(from, size)) open_.remove(from);
        }
        // Pages are touched for the first time here, outside the lock.
        free_block* list = nullptr;
        for (std::size_t i = count; i-- != 0;) list = ::new (fresh + i * size) free_block(list);
        return list;
    }

    /// Keeps a chain for other threads, or sorts its blocks into their slabs if the reserve is full.
    void put(std::size_t size_class, free_block* blocks, std::size_t count) noexcept {
        const std::size_t bytes = count * block_bytes(size_class);
        if (reserved.fetch_add(bytes, memory_order_relaxed) + bytes > reserve_limit.load(memory_order_relaxed)) {
            // [frame_pool.put.reserved]
            reserved.fetch_sub(bytes, memory_order_relaxed);
            return sort(size_class, blocks, pages_stay);
        }
        reserve_uses.fetch_add(1, memory_order_relaxed);
        free_block* const rest = blocks->next;  // before the chain is made in its place
        auto* const c = ::new (static_cast<void*>(blocks)) chain(rest, bytes);
        // [frame_pool.put.lock]
        const adaptive_guard guard(lock_);
        chains_.push(*c);
    }

    /// Sorts a chain into its slabs; false if there is none.
    template <typename F>
    bool give_back_chain(std::size_t size_class, const F& pages_go) noexcept {
        free_block* blocks = nullptr;
        {
            const adaptive_guard guard(lock_);
            chain* const c = chains_.pop();
            if (c == nullptr) return false;
            blocks = reinterpret_cast<free_block*>(c);
            reserved.fetch_sub(c->bytes, memory_order_relaxed);
        }
        sort(size_class, blocks, pages_go);
        return true;
    }

    /// Puts blocks back into their slabs; slabs that become empty go to the heap. `pages_go()` is asked for each of
    /// them.
    template <typename F>
    void sort(std::size_t size_class, free_block* blocks, const F& pages_go) noexcept {
        const std::size_t size = block_bytes(size_class);
        intrusive_stack<slab> released;
        {
            // [frame_pool.sort.lock]
            const adaptive_guard guard(lock_);
            while (blocks != nullptr) {
                free_block* const block = blocks;
                blocks = block->next;
                slab& home = *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(slab_bytes - 1));
                if (!has_block(home, size)) open_.push_front(home);
                block->next = home.free;
                home.free = block;
                if (--home.used != 0) continue;
                open_.remove(home);
                released.push(home);
            }
        }
        while (slab* const empty = released.pop()) {
            remove_slab(empty->entry);
            if (pages_go()) discard_pages(empty, slab_bytes);
            ::operator delete(empty, std::align_val_t{slab_bytes});
            slabs_released.fetch_add(1, memory_order_relaxed);
        }
    }

private:
    static bool has_block(const slab& s, std::size_t size) noexcept {
        return s.free != nullptr || s.untouched >= slab_header + size;
    }

    bool add_slab(std::size_t size_class) noexcept {
        void* const raw = ::operator new(slab_bytes, std::align_val_t{slab_bytes}, std::nothrow);
        if (raw == nullptr) return false;
        auto& fresh = *::new (raw) slab{nullptr, nullptr, nullptr, slab_bytes, 0, 0};
        if (!enter_slab(raw, size_class, fresh.entry)) {
            ::operator delete(raw, std::align_val_t{slab_bytes});
            return false;
        }
        slabs_acquired.fetch_add(1, memory_order_relaxed);
        open_.push_front(fresh);
        return true;
    }

    adaptive_lock lock_;
    intrusive_list<slab> open_;
    intrusive_stack<chain> chains_;
};

}  // namespace coflux::detail
