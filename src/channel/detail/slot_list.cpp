#include <coflux/channel/detail/slot_list.hpp>

#include <new>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

slot_list::slot_list(std::pmr::memory_resource* resource, std::size_t first_offset, std::size_t stride)
    : resource_(resource),
      first_offset_(first_offset),
      stride_(stride),
      tail_(0) {
    block_ = allocate_block();
    tail_.store(first_of(block_), memory_order_relaxed);  // relaxed: the code that hands out the ends publishes it
}

slot_list::~slot_list() {
    // The last end is here: no claim is on its way, so the blocks in use hang together.
    while (block_ != nullptr) free_block(std::exchange(block_, block_->next));
    while (spare_ != nullptr) free_block(std::exchange(spare_, spare_->next));
}

slot_block* slot_list::allocate_block() {
    // The first slot lies at the strictest alignment that the block needs.
    void* const memory = resource_->allocate(first_offset_ + slots_in_block * stride_, first_offset_);
    COFLUX_VERIFY((reinterpret_cast<std::uintptr_t>(memory) >> 6U >> 23U >> 24U) == 0,
                  "a block at %p: mpsc channels need addresses of at most 53 bits", memory);
    auto* const b = ::new (memory) slot_block();
    for (std::size_t i = 0; i != slots_in_block; ++i)
        ::new (static_cast<void*>(&state_of(b, i, first_offset_, stride_))) atomic<std::uintptr_t>(0);
    return b;
}

void slot_list::free_block(slot_block* b) noexcept {
    resource_->deallocate(b, first_offset_ + slots_in_block * stride_, first_offset_);
}

void slot_list::add_spare_blocks(std::size_t blocks) {
    for (; blocks != 0; --blocks) {
        slot_block* const b = allocate_block();
        const adaptive_guard guard(growth_);
        b->next = std::exchange(spare_, b);
    }
}

slot_claim slot_list::claim_in_new_block() {
    growth_.lock();
    sending_.set_here();
    for (;;) {
        // Under the lock the word changes by fetch_add only: a full block stays full, and a closed list closed.
        const std::uint64_t t = tail_.load(memory_order_relaxed);
        if ((t & sealed_bit) != 0) {
            growth_.unlock();
            return {nullptr, 0, nullptr};
        }
        if ((t & no_slot) == 0) {  // another sender has added a block meanwhile
            growth_.unlock();
            const std::uint64_t again = tail_.fetch_add(1, memory_order_acquire);  // pairs with the store below
            if ((again & no_slot) == 0) return {block_of(again), static_cast<std::size_t>(again & index_mask), nullptr};
            growth_.lock();
            continue;
        }
        slot_block* const last = block_of(t);
        if (spare_ != nullptr) {
            slot_block* const b = std::exchange(spare_, spare_->next);
            b->next = nullptr;
            last->next = b;
            // Its first slot is ours. release pairs with the acquire in claim(). Additions of other senders to the
            // old value meanwhile are lost, and were no claims.
            tail_.store(first_of(b) + 1, memory_order_release);
            growth_.unlock();
            return {b, 0, last};
        }
        // Takes back what failed and late senders added, so that no number of failed allocations fills the sixteen
        // bits. relaxed: a full block gives no slot, and the block's words were published with it.
        tail_.store(first_of(last) + slots_in_block, memory_order_relaxed);
        growth_.unlock();
        slot_block* const b = allocate_block();
        growth_.lock();
        b->next = std::exchange(spare_, b);
    }
}

bool slot_list::seal() noexcept {
    growth_.lock();
    if (sealed()) {
        growth_.unlock();
        return false;
    }
    const std::uint64_t t = tail_.exchange(sealed_bit, memory_order_acquire);  // pairs with the store of a new block
    growth_.unlock();
    slot_block* const b = block_of(t);
    const std::size_t i = static_cast<std::size_t>(t & index_mask);
    atomic<std::uintptr_t>& word = i < slots_in_block ? state_of(b, i, first_offset_, stride_) : b->end;
    // release pairs with the receiver's acquire; acquire with the release of its CAS: the operation is complete.
    left(word.exchange(closed, memory_order_acq_rel));
    return true;
}

bool slot_list::enter_next_block() noexcept {
    if (block_->end.load(memory_order_acquire) != ready) return false;  // pairs with the linking sender's exchange
    slot_block* const drained = std::exchange(block_, block_->next);
    index_ = 0;
    // relaxed: the lock hands the block over to the sender that uses it next.
    drained->end.store(0, memory_order_relaxed);
    const adaptive_guard guard(growth_);
    drained->next = std::exchange(spare_, drained);
    return true;
}

void slot_list::wake(std::uintptr_t operation) noexcept {
    reinterpret_cast<wait_operation*>(operation)->wake();
}

}  // namespace coflux::detail
