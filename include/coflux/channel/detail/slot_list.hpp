// The FIFO below the mpsc channels: linked blocks of slots, many senders, one receiver. The part that does not know the
// type of the values.
//
// Source: the block lists of Tokio's mpsc and of crossbeam's unbounded channel. Deviations: block and index of the next
// free slot are one word, so that a claim names its block and no sender can hold a block that is being reused. A block
// is added before any of its slots is claimed, so that a failed allocation loses nothing. The receiver waits in the
// slot that it needs. docs/design/channel_queues.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/channel/detail/peer.hpp>

namespace coflux::detail {

/// Head of a block; `slots_in_block` slots follow, each of which begins with its state word.
struct alignas(cache_line) slot_block {
    // A word like a slot's state (slot_list): ready means that `next` is linked.
    atomic<std::uintptr_t> end{0};
    slot_block* next = nullptr;
};

/// A slot to fill. After it is filled, its state, or the end of `after` if there is one, must become ready.
struct slot_claim {
    slot_block* block;  ///< nullptr: the list is closed
    std::size_t index;
    slot_block* after;  ///< the block before, to which this new one is not linked yet; the slot is its first
};

class slot_list {
public:
    static constexpr std::size_t slots_in_block = 64;

    // The states of a slot, and of a block's end. Sender and closer leave the first three by an exchange.
    //
    // | value     | meaning                                                         |
    // | --------- | --------------------------------------------------------------- |
    // | 0         | empty (or claimed, and not filled yet)                          |
    // | marked    | as 0: a trace of a stop request (atomic_waiter)                 |
    // | a pointer | the receiver's wait_operation: it waits for this slot           |
    // | ready     | filled; until the receiver has taken the value and stores 0     |
    // | closed    | nothing was sent here, and nothing ever will be, here or behind |
    static constexpr std::uintptr_t ready = 4;
    static constexpr std::uintptr_t closed = 6;
    [[nodiscard]] static constexpr bool is_operation(std::uintptr_t state) noexcept { return state > 7; }

    slot_list(std::pmr::memory_resource* resource, std::size_t first_offset, std::size_t stride);
    ~slot_list();
    slot_list(const slot_list&) = delete;
    slot_list& operator=(const slot_list&) = delete;

    /// Sender: the next slot. Throws std::bad_alloc, and then nothing is claimed.
    COFLUX_INLINE slot_claim claim() {
        // acquire pairs with the release store in claim_in_new_block(): the block's words are visible.
        const std::uint64_t t = tail_.fetch_add(1, memory_order_acquire);
        if ((t & no_slot) == 0) [[likely]]
            return {block_of(t), t & index_mask, nullptr};
        return claim_in_new_block();
    }
    /// Ends the list behind the last claim and wakes the receiver if it waits there. False if it was closed already.
    bool seal() noexcept;
    /// True once seal() was called.
    [[nodiscard]] bool sealed() const noexcept {
        return (tail_.load(memory_order_relaxed) & sealed_bit) != 0;  // relaxed: an answer that may be old at once
    }
    /// Makes sure that `blocks` blocks more exist than are in use.
    void add_spare_blocks(std::size_t blocks);

    /// Where a sender was when it began the last block.
    [[nodiscard]] peer& sending() noexcept { return sending_; }

    /// Wakes the receiver if the word that was left says so.
    COFLUX_INLINE static void left(std::uintptr_t state) noexcept {
        if (is_operation(state)) wake(state);
    }

protected:
    /// Receiver: the word that will change when there is more.
    [[nodiscard]] COFLUX_INLINE atomic<std::uintptr_t>& next_word(std::size_t first_offset,
                                                                  std::size_t stride) noexcept {
        return index_ == slots_in_block ? block_->end : state_of(block_, index_, first_offset, stride);
    }
    /// Receiver: about how many slots senders have claimed, of this block and the last one. At worst the receiver leaves
    /// them alone for too long, or not for long enough.
    [[nodiscard]] std::size_t claimed() const noexcept {
        const std::uint64_t t = tail_.load(memory_order_relaxed);  // pairs with nothing: a count
        const std::size_t index = t & index_mask;
        const std::size_t end = index < slots_in_block ? index : slots_in_block;
        return block_of(t) == block_ ? end - index_ : slots_in_block - index_ + end;
    }
    /// Receiver: goes on to the next block, if the one that it has taken everything from has one.
    bool enter_next_block() noexcept;

    [[nodiscard]] static COFLUX_INLINE atomic<std::uintptr_t>&
    state_of(slot_block* b, std::size_t i, std::size_t first_offset, std::size_t stride) noexcept {
        return *reinterpret_cast<atomic<std::uintptr_t>*>(reinterpret_cast<std::byte*>(b) + first_offset + i * stride);
    }

    // The receiver's own.
    slot_block* block_;
    std::size_t index_ = 0;

private:
    static constexpr std::uint64_t sealed_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t index_mask = 0xffff;
    static constexpr std::uint64_t no_slot = sealed_bit | (index_mask & ~std::uint64_t{slots_in_block - 1});

    [[nodiscard]] static slot_block* block_of(std::uint64_t t) noexcept {
        return reinterpret_cast<slot_block*>(t >> 16U << 6U);
    }
    [[nodiscard]] static std::uint64_t first_of(slot_block* b) noexcept {
        return reinterpret_cast<std::uintptr_t>(b) >> 6U << 16U;
    }

    static void wake(std::uintptr_t operation) noexcept;
    COFLUX_NOINLINE slot_claim claim_in_new_block();
    [[nodiscard]] slot_block* allocate_block();
    void free_block(slot_block* b) noexcept;

    std::pmr::memory_resource* resource_;
    std::size_t first_offset_;
    std::size_t stride_;

    // block address / 64 in bits 16 to 62, index of the next free slot in bits 0 to 15.
    //
    // | value                | meaning                                           | leaves it                 |
    // | -------------------- | ------------------------------------------------- | ------------------------- |
    // | index < 64           | that slot is free                                 | sender: fetch_add         |
    // | index >= 64          | full; the excess counts senders on their slow way | sender, locked: new block |
    // | sealed_bit + a count | closed; counts sends in vain                      | nothing                   |
    alignas(cache_line) atomic<std::uint64_t> tail_;
    alignas(cache_line) adaptive_lock growth_;
    slot_block* spare_ = nullptr;  ///< under growth_: blocks to use next
    peer sending_;
};

}  // namespace coflux::detail
