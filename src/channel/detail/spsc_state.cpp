#include <coflux/channel/detail/spsc_state.hpp>

namespace coflux::detail {

bool spsc_words::reserve() noexcept {
    // [spsc.reserve.counts]
    reserved_.store(++reserved_here_, memory_order_seq_cst);
    // [spsc.reserve.looks]
    if ((tail_.load(memory_order_seq_cst) & sealed) == 0) return true;
    unreserve();
    return false;
}

void spsc_words::unreserve() noexcept {
    // [spsc.unreserve.counts]
    reserved_.store(--reserved_here_, memory_order_seq_cst);
    if (reserved_here_ != 0) return;
    // The last that could still send.
    // [spsc.unreserve.looks]
    if (sender_ended_ || (tail_.load(memory_order_seq_cst) & sealed) != 0) end_now();
}

void spsc_words::end_now() noexcept {
    std::uintptr_t seen = tail_.load(memory_order_relaxed);
    // release pairs with the receiver's acquire of the tail; acquire, with the release of its CAS in atomic_waiter.
    // [spsc.end]
    while (!tail_.compare_exchange_weak(seen, (seen & ~(waits | marked)) | ended, memory_order_acq_rel,
                                        memory_order_relaxed)) {}
    if ((seen & waits) != 0) wake_receiver();
}

bool spsc_words::finished() const noexcept {
    // [spsc.finished.looks]
    const std::uintptr_t t = tail_.load(memory_order_seq_cst);
    // [spsc.finished.values]
    if (position(t) != first_) return false;
    // [spsc.finished.end]
    if ((t & ended) != 0) return true;
    // [spsc.finished.permits]
    if ((t & sealed) == 0 || reserved_.load(memory_order_seq_cst) != 0) return false;
    // The value that the last permit sent, before it was counted out, is in the tail by now.
    // [spsc.finished.looks_again]
    return position(tail_.load(memory_order_seq_cst)) == first_;
}

void spsc_words::close() noexcept {
    if (closed_ != 0) return;
    closed_ = sealed;
    // [spsc.seals]
    tail_.fetch_or(sealed, memory_order_seq_cst);
    released(0);  // a sender that waits finds out
}

void spsc_words::wake_receiver() noexcept {
    sending_.set_here();
    receiver_->wake();
}

void spsc_words::wake_sender() noexcept {
    receiving_.set_here();
    sender_->wake();
}

bool spsc_room_wait::spin() noexcept {
    return words_.receiving_.spin_until_some([this]() noexcept -> std::size_t {
        return words_.has_room() ? words_.capacity() - words_.used() : words_.is_sealed() ? 1 : 0;
    });
}

bool spsc_value_wait::spin() noexcept {
    return words_.sending_.spin_until_some([this]() noexcept -> std::size_t {
        return words_.has_value() ? words_.available() : words_.finished() ? 1 : 0;
    });
}

std::coroutine_handle<> spsc_room_wait::wait() {
    words_.sending_.set_here();
    // Full at this head, or await_ready() would not have led here; another head, or one of a closed channel, ends the
    // wait.
    words_.sender_ = this;
    return wait_in(words_.head_, words_.head_seen_, words_.head_seen_ | spsc_words::waits);
}

std::coroutine_handle<> spsc_value_wait::wait() {
    words_.receiving_.set_here();
    // A tail at the first value is empty. Where the channel is sealed and a permit was out, its end changes
    // it.
    const std::uintptr_t empty = words_.first_ | words_.closed_;
    words_.receiver_ = this;
    return wait_in(words_.tail_, empty, empty | spsc_words::waits);
}

}  // namespace coflux::detail
