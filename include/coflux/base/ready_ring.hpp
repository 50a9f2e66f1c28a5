// Bounded FIFO of pointers: one owner pushes at the tail, any thread takes at the head.
//
// Source: the local run queue of Go's and Tokio's schedulers. Deviations: 64-bit indices, so that a stalled taker
// cannot be fooled by a wrap-around; takers take one element.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

class ready_ring {
public:
    static constexpr std::size_t capacity = 256;

    /// Owner: adds `item` as the last; false when full.
    COFLUX_INLINE bool push(void* item) noexcept {
        const std::uint64_t t = tail_.load(memory_order_relaxed);
        // acquire pairs with the CAS in take(): the thread that emptied the cell has read it before we write it again.
        if (t - head_.load(memory_order_acquire) >= capacity) [[unlikely]]
            return false;
        cells_[t % capacity].store(item, memory_order_relaxed);
        tail_.store(t + 1, memory_order_release);  // pairs with the load of tail_ in take(): the cell is visible
        return true;
    }

    /// Owner: what it pushes next was running, and yields.
    COFLUX_INLINE void note_yield() noexcept {
        yields_.store(yields_.load(memory_order_relaxed) + 1, memory_order_relaxed);
    }

    /// Owner: no coroutine that is here has woken those that were pushed so far.
    void note_woken_elsewhere() noexcept {
        woken_elsewhere_.store(tail_.load(memory_order_relaxed), memory_order_relaxed);
    }

    /// Owner: how many it has pushed so far, and the last of them, which may have been taken.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(memory_order_relaxed); }
    [[nodiscard]] void* last() const noexcept {
        return cells_[(tail_.load(memory_order_relaxed) - 1) % capacity].load(memory_order_relaxed);
    }

    /// Any thread: takes the first; nullptr when empty.
    COFLUX_INLINE void* take() noexcept {
        std::uint64_t h = head_.load(memory_order_acquire);  // pairs with the CAS below
        for (;;) {
            if (h == tail_.load(memory_order_acquire)) return nullptr;  // pairs with the release in push()
            void* const item = cells_[h % capacity].load(memory_order_relaxed);
            // The cell cannot have been overwritten if head_ still is h. release pairs with the acquire in push().
            if (head_.compare_exchange_weak(h, h + 1, memory_order_acq_rel, memory_order_acquire)) return item;
        }
    }

    /// Number of elements: a hint for all but the owner.
    std::size_t size() const noexcept {
        const std::uint64_t h = head_.load(memory_order_relaxed);
        const std::uint64_t t = tail_.load(memory_order_relaxed);
        return t > h ? t - h : 0;
    }

    /// The sight of a thread that is not the owner. `taken` names the first element: so many were taken before it.
    struct glance {
        std::uint64_t taken;
        std::uint64_t size;             ///< 0 as well if an element was taken in the moment of the look
        std::uint64_t yields;           ///< of those pushed so far. A hint
        std::uint64_t woken_elsewhere;  ///< the first so many. A hint
        bool operator==(const glance&) const = default;
    };
    /// Any thread: looks at the front.
    [[nodiscard]] glance look() const noexcept {
        // acquire, both: the loads stay in this order; they pair with nothing more.
        const std::uint64_t h = head_.load(memory_order_acquire);
        const std::uint64_t t = tail_.load(memory_order_acquire);
        return {h, head_.load(memory_order_relaxed) == h ? t - h : 0, yields_.load(memory_order_relaxed),
                woken_elsewhere_.load(memory_order_relaxed)};
    }

private:
    // Elements are [head_, tail_). tail_: written by the owner only. head_: only grows, by CAS.
    alignas(cache_line) atomic<std::uint64_t> tail_{0};
    atomic<std::uint64_t> yields_{0};  // written by the owner only; so is the next
    atomic<std::uint64_t> woken_elsewhere_{0};
    alignas(cache_line) atomic<std::uint64_t> head_{0};
    alignas(cache_line) atomic<void*> cells_[capacity]{};
};

}  // namespace coflux::detail
