// Work-stealing deque of pointers: one owner pushes and pops at the bottom, any thread steals at the top.
//
// Source: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, with the C11 orders of N. M. Lê et al.,
// "Correct and efficient work-stealing for weak memory models", PPoPP 2013. Deviations:
//   * the owner's pop orders its write of `bottom` before its read of `top` by an asymmetric fence, which costs it
//     nothing, and each theft a call of the system; or, where there is none, by a seq_cst exchange instead of a fence
//     (clang compiles the fence to mfence, 16 ns; the exchange is 2 ns on one family of processors, 30 % of a pop of
//     many forks on another);
//   * where a theft costs a call, the deque is split, as in T. van Dijk, J. van de Pol, "Lace: non-blocking split deque
//     for work-stealing", Euro-Par 2014 Workshops: the older elements may be shared. A thief takes those without the
//     call, and asks for some where there are none. The owner answers at its next push or pop: it shares all but its
//     own part, half of them with one thief. A lone element it keeps for itself, unless thieves have found that such
//     ones lie there: most are popped at once;
//   * the owner takes a lone element as a thief would, by the CAS on `top` alone, so that no pop has two locked
//     instructions;
//   * `pop_if` pops the youngest element only if it is the expected one;
//   * `fetch_ahead` prefetches what the owner is going to take;
//   * the owner caches `top` and the buffer; old buffers live as long as the deque, so a slow thief never reads
//   freed memory.
// The page docs/design/thread_pool.md has the state table and the argument.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include <coflux/base/assert.hpp>
#include <coflux/base/asymmetric_fence.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

class work_stealing_deque {
public:
    /// `heavy`: what a thief calls for the pops to be free; nullptr: each pop has a locked instruction. `takers`: how
    /// many threads take from it, the owner among them, which keeps its part of what it shares.
    explicit work_stealing_deque(std::size_t capacity = 1024, heavy_fence heavy = nullptr, std::size_t takers = 2)
        : room_end_(static_cast<std::int64_t>(capacity)),
          fast_from_(heavy != nullptr ? 0 : nowhere),
          owned_(make(capacity, nullptr)),
          cells_(owned_),
          pops_freely_(heavy != nullptr),
          heavy_(heavy),
          takers_(static_cast<std::int64_t>(takers < 2 ? 2 : takers)) {
        buffer_.store(owned_, memory_order_relaxed);  // pairs with nothing: published with the deque itself
    }
    ~work_stealing_deque() {
        for (buffer* b = owned_; b != nullptr;) {
            buffer* const older = b->older;
            ::operator delete(b, std::align_val_t{alignof(buffer)});
            b = older;
        }
    }
    work_stealing_deque(const work_stealing_deque&) = delete;
    work_stealing_deque& operator=(const work_stealing_deque&) = delete;

    /// Owner: adds `item` as the youngest. Grows (and then allocates) when full; running out of memory there is fatal.
    COFLUX_INLINE void push(void* item) noexcept {
        const std::int64_t b = bottom_.load(memory_order_relaxed);
        if (b >= room_end_.load(memory_order_relaxed)) [[unlikely]]
            prepare_push(b, item);
        cells_[b].store(item, memory_order_relaxed);
        // [deque.push.bottom]
        bottom_.store(b + 1, memory_order_release);  // pairs with the load of bottom_ in take_oldest()
    }

    /// Owner: takes the youngest, or returns nullptr.
    COFLUX_INLINE void* pop() noexcept {
        const std::int64_t b = bottom_.load(memory_order_relaxed) - 1;
        void* const item = cells_[b].load(memory_order_relaxed);
        return take(b) ? item : nullptr;
    }

    /// Owner: takes the youngest if it is `item`, and says whether it did.
    COFLUX_INLINE bool pop_if(const void* item) noexcept {
        return pop_if(item, [] { return true; });
    }
    /// Takes the youngest if it is `item` and `allowed()`, unless it was stolen. `allowed()` is asked only if it is
    /// `item`, and neither pushes nor takes where it says yes.
    template <typename Allowed>
    COFLUX_INLINE bool pop_if(const void* item, Allowed allowed) noexcept {
        const std::int64_t b = bottom_.load(memory_order_relaxed) - 1;
        if (cells_[b].load(memory_order_relaxed) != item || !allowed()) return false;
        return take(b);
    }

    /// Owner: what it has pushed last, unless it has popped since.
    [[nodiscard]] void* youngest() const noexcept {
        return cells_[bottom_.load(memory_order_relaxed) - 1].load(memory_order_relaxed);
    }

    /// Owner: fetches what the next `n` pops give into the cache.
    void fetch_ahead(std::int64_t n) const noexcept {
        const std::int64_t b = bottom_.load(memory_order_relaxed);
        for (std::int64_t i = 1; i <= n; ++i) prefetch(cells_[b - i].load(memory_order_relaxed));
    }

    /// Owner: takes the oldest, or returns nullptr when there is none or a thief took it.
    void* pop_oldest() noexcept {
        std::int64_t t = top_.load(memory_order_acquire);  // pairs with the CAS of take_oldest(), as in take()
        if (t >= bottom_.load(memory_order_relaxed)) return nullptr;
        void* const item = cells_[t].load(memory_order_relaxed);
        return top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed) ? item : nullptr;
    }

    /// Any thread: takes the oldest, or returns nullptr when there is none or another thread took it. Where the oldest
    /// is private, it calls the heavy fence.
    void* steal() noexcept { return take_oldest(true); }
    /// The same, without a call: nullptr, too, where the oldest is private.
    void* steal_shared() noexcept { return take_oldest(false); }

    /// Any thread: asks the owner to share what it has, but for its part, at its next push or pop. False if it is asked
    /// already.
    bool ask_to_share() noexcept {
        // Both lead the owner to its slow path. relaxed: what it does there is right without a request, too.
        if (fast_from_.load(memory_order_relaxed) == nowhere) return false;
        fast_from_.store(nowhere, memory_order_relaxed);
        room_end_.store(none, memory_order_relaxed);
        return true;
    }

    /// Any thread: what the owner pushes onto an empty deque lies there long enough to be stolen: the next ones are
    /// shared with their push, where a thief asks.
    void share_lone() noexcept { lone_shares_.store(lone_ones, memory_order_relaxed); }  // a hint, as a request

    /// Number of elements; exact for the owner when there is no thief, a hint for all other threads.
    std::size_t size() const noexcept {
        const std::int64_t n = bottom_.load(memory_order_relaxed) - top_.load(memory_order_relaxed);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

private:
    static COFLUX_INLINE void prefetch(const void* item) noexcept {
        __builtin_prefetch(item);
        __builtin_prefetch(static_cast<const char*>(item) + cache_line);
    }

    struct buffer {
        buffer* older;
        std::int64_t mask;
        alignas(cache_line) atomic<void*> cells[1];
    };

    /// Where the cells of a buffer are, and how many, in one word: the binary logarithm is in the low bits of the
    /// address.
    class ring {
    public:
        explicit ring(buffer* of) noexcept
            : word_(reinterpret_cast<std::uintptr_t>(of->cells) |
                    static_cast<std::uintptr_t>(std::countr_one(static_cast<std::uint64_t>(of->mask)))) {}
        [[nodiscard]] COFLUX_INLINE atomic<void*>& operator[](std::int64_t index) const noexcept {
            const std::int64_t mask = (std::int64_t{1} << (word_ & low_bits)) - 1;
            return reinterpret_cast<atomic<void*>*>(word_ & ~low_bits)[index & mask];
        }

    private:
        static constexpr std::uintptr_t low_bits = cache_line - 1;

        std::uintptr_t word_;
    };

    static buffer* make(std::size_t capacity, buffer* older) noexcept {
        COFLUX_VERIFY(capacity != 0 && (capacity & (capacity - 1)) == 0, "deque capacity %zu is not a power of two",
                      capacity);
        const std::size_t used = offsetof(buffer, cells) + capacity * sizeof(atomic<void*>);
        const std::size_t bytes = used < sizeof(buffer) ? sizeof(buffer) : used;
        void* const raw = ::operator new(bytes, std::align_val_t{alignof(buffer)}, std::nothrow);
        COFLUX_VERIFY(raw != nullptr, "out of memory for a work-stealing deque of %zu cells", capacity);
        auto* const made = ::new (raw) buffer{older, static_cast<std::int64_t>(capacity) - 1, {}};
        for (std::size_t i = 1; i < capacity; ++i) ::new (&made->cells[i]) atomic<void*>{nullptr};
        return made;
    }

    void* take_oldest(bool may_call) noexcept {
        // Either the owner sees our advance of top_, or we see its retreat of bottom_ or of shared_end_. Where pops are
        // free, the heavy fence between our loads pairs with the light one of take(): both threads pass a full fence.
        // Elsewhere the two seq_cst loads and the CAS are in one total order with the owner's exchange and load.
        // [deque.steal.top]
        std::int64_t t = top_.load(memory_order_seq_cst);
        // acquire part pairs with the release in share(): the cell is visible
        // [deque.steal.shared_end]
        const bool is_shared = heavy_ != nullptr && t < shared_end_.load(memory_order_seq_cst);
        if (!is_shared) {
            // [deque.steal.private]
            if (heavy_ != nullptr) {
                // [deque.steal.none]
                if (!may_call || t >= bottom_.load(memory_order_relaxed)) return nullptr;  // none costs no call
                // [deque.steal.fence]
                heavy_();
            }
            // [deque.steal.bottom]
            const std::int64_t b = bottom_.load(memory_order_seq_cst);  // acquire part pairs with the release in push()
            // [deque.steal.empty]
            if (t >= b) return nullptr;
        }
        // [deque.steal.buffer]
        buffer* const from = buffer_.load(memory_order_acquire);  // pairs with the release in make_room()
        void* const item = from->cells[t & from->mask].load(memory_order_relaxed);
        // [deque.steal.cas]
        if (!top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed)) return nullptr;
        return item;
    }

    /// Owner: takes cell b, the youngest if there is any. Its content may be read before: no thief writes cells.
    COFLUX_INLINE bool take(std::int64_t b) noexcept {
        // [deque.take.first_top]
        std::int64_t t = top_.load(
            memory_order_acquire);  // pairs with the CAS of a thief: a lost cell is not reused while it is read
        if (t >= b) [[unlikely]] {
            // [deque.take.empty]
            if (t > b) return false;  // empty: top_ only grows, and bottom_ is ours
            // One left: claim it as a thief does. Success leaves top_ == bottom_, an empty deque, without touching
            // bottom_.
            // [deque.take.lone_cas]
            return top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed);
        }
        if (b < fast_from_.load(memory_order_relaxed)) [[unlikely]] {
            // [deque.take.slowly]
            if (pops_freely_) return take_slowly(b);
            // [deque.take.exchange]
            bottom_.exchange(b, memory_order_seq_cst);  // pairs with the seq_cst loads of a thief
        } else {
            // [deque.take.bottom]
            bottom_.store(b, memory_order_relaxed);
            // [deque.take.fence]
            light_fence();  // pairs with the heavy fence of a thief
        }
        // [deque.take.second_top]
        return top_.load(memory_order_seq_cst) < b || race_for(b);
    }

    /// Owner: the rest of take() where cell b is shared, or a thief asks.
    COFLUX_ASIDE bool take_slowly(std::int64_t b) noexcept {
        const bool is_asked = fast_from_.load(memory_order_relaxed) == nowhere;
        bottom_.store(b, memory_order_relaxed);
        // [deque.take_slowly.is_shared]
        if (b < shared_) {
            // [deque.take_slowly.retreat]
            shared_ = b;
            // [deque.take_slowly.shared_end]
            shared_end_.exchange(shared_, memory_order_seq_cst);  // pairs with the seq_cst loads of a thief
        }
        light_fence();  // pairs with the heavy fence of a thief
        const bool won = top_.load(memory_order_seq_cst) < b || race_for(b);
        if (!is_asked) {
            fast_from_.store(shared_, memory_order_relaxed);
        } else if (won) {
            share(b);
        }
        return won;
    }

    /// Owner: thieves came down to our last element, b. Races for it, then puts bottom_ back.
    COFLUX_ASIDE bool race_for(std::int64_t b) noexcept {
        std::int64_t t = b;
        // [deque.race.cas]
        const bool won = top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed);
        // [deque.race.bottom]
        bottom_.store(b + 1, memory_order_relaxed);  // top_ >= b + 1 by now: empty for every thief, whatever it reads
        return won;
    }

    /// Owner, before a push at b: it needs room, or a thief asks.
    COFLUX_ASIDE void prepare_push(std::int64_t b, void* item) noexcept {
        const bool is_asked = room_end_.load(memory_order_relaxed) == none;
        if (is_asked && keeps_lone(b)) return;
        make_room(b);
        if (!is_asked) return;
        cells_[b].store(item, memory_order_relaxed);
        share(b + 1);
    }

    /// Owner, where a thief asks, before a push at b: false if what it pushes is not lone, or is to be shared. Once in
    /// a while it drops the request, so that its pushes are fast again: a thief that still looks asks again.
    bool keeps_lone(std::int64_t b) noexcept {
        // [deque.keeps_lone.top]
        if (top_.load(memory_order_acquire) != b) return false;  // as in make_room(); there is room for a lone one
        const std::uint32_t shares = lone_shares_.load(memory_order_relaxed);
        if (shares != 0) {
            lone_shares_.store(shares - 1, memory_order_relaxed);
            return false;
        }
        if (++kept_ % lone_ones == 0) {
            make_room(b);
            fast_from_.store(shared_, memory_order_relaxed);
        }
        return true;
    }

    /// Owner: answers a thief: shares [top_, end), but for the youngest ones, which are the owner's part.
    void share(std::int64_t end) noexcept {
        // [deque.share.top]
        const std::int64_t t = top_.load(memory_order_acquire);  // as in make_room()
        if (t < end) {
            // [deque.share.part]
            const std::int64_t kept_from = end - (end - t) / takers_;
            shared_ = kept_from > shared_ ? kept_from : shared_;
            // [deque.share.shared_end]
            shared_end_.store(shared_, memory_order_release);  // pairs with the load of a thief: the cells are visible
        }
        // [deque.share.fast_from]
        fast_from_.store(shared_, memory_order_relaxed);
        room_end_.store(t + owned_->mask + 1, memory_order_relaxed);
    }

    void make_room(std::int64_t b) noexcept {
        // [deque.make_room.top]
        const std::int64_t top_seen =
            top_.load(memory_order_acquire);  // pairs with the CAS of a thief: cells below are free for reuse
        // [deque.make_room.is_full]
        if (b >= top_seen + owned_->mask + 1) grow(top_seen, b);
        room_end_.store(top_seen + owned_->mask + 1, memory_order_relaxed);
    }

    void grow(std::int64_t top_seen, std::int64_t b) noexcept {
        buffer* const bigger = make(static_cast<std::size_t>(owned_->mask + 1) * 2, owned_);
        const ring copies(bigger);
        for (std::int64_t i = top_seen; i < b; ++i)
            copies[i].store(cells_[i].load(memory_order_relaxed), memory_order_relaxed);
        owned_ = bigger;
        cells_ = copies;
        // [deque.grow.buffer]
        buffer_.store(bigger, memory_order_release);  // pairs with the acquire of a thief: the copies are visible
    }

    // That are shared after a theft of one, and that are kept until a request is dropped.
    static constexpr std::uint32_t lone_ones = 16;
    static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

    // bottom_: index of the next free cell; written by the owner only. top_: index of the oldest element; only
    // grows, by CAS.
    // Elements are [top_, bottom_). bottom_ == top_ - 1 is seen for a moment by thieves while the owner loses a race.
    alignas(cache_line) atomic<std::int64_t> bottom_{0};
    // Written by the owner, and by thieves that ask. Cells below room_end_ are free, by a lower bound of top_; none: a
    // thief asks. Cells from fast_from_ on are private, and a pop of one is free; nowhere: a thief asks, or no pop is.
    atomic<std::int64_t> room_end_;
    atomic<std::int64_t> fast_from_;
    buffer* owned_;  // owner: the newest buffer, head of the list of all
    ring cells_;     // owner: its cells
    const bool pops_freely_;
    std::uint32_t kept_ = 0;                // owner: lone elements that it kept from thieves
    atomic<std::uint32_t> lone_shares_{0};  // so many it does not; written by thieves, too
    std::int64_t shared_ = 0;               // owner: shared_end_
    alignas(cache_line) atomic<std::int64_t> top_{0};
    // Elements below are shared; at most bottom_. Written by the owner.
    atomic<std::int64_t> shared_end_{0};
    atomic<buffer*> buffer_{nullptr};  // thieves: the newest buffer
    const heavy_fence heavy_;          // thieves; nullptr: !pops_freely_
    const std::int64_t takers_;        // owner
};

}  // namespace coflux::detail
