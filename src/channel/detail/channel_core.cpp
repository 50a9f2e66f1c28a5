// The parts of a channel that no fast path runs: parking, close, waking the cases of selects. The page
// docs/design/channel.md has the protocol.
#include <coflux/channel/detail/channel_core.hpp>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/select_core.hpp>

namespace coflux::detail {

channel_core::~channel_core() {
    COFLUX_VERIFY(senders_.empty() && receivers_.empty(), "a channel dies while a coroutine waits at it");
    COFLUX_VERIFY(reserved_ == 0, "a channel dies before %zu of its permits", std::size_t{reserved_});
    // acquire pairs with the release of the last of each: what that end did is over.
    const unsigned senders = sender_ends_.load(memory_order_acquire);
    const unsigned receivers = receiver_ends_.load(memory_order_acquire);
    COFLUX_VERIFY(senders + receivers == 0, "a channel dies before %u of its senders and %u of its receivers", senders,
                  receivers);
}

void channel_core::remove_sender() noexcept {
    // acq_rel: the last sender to leave closes the channel behind all that the other senders have sent.
    if (sender_ends_.fetch_sub(1, memory_order_acq_rel) == 1) close();
}

bool channel_core::remove_receiver() noexcept {
    // acq_rel: the last receiver to leave closes the channel after all that the other receivers have done.
    if (receiver_ends_.fetch_sub(1, memory_order_acq_rel) != 1) return false;
    close();
    lock();
    abandoned_ = true;
    unlock();
    return true;
}

void channel_core::close() noexcept {
    channel_wakes wakes;
    lock();
    if (!closed_locked()) {
        // [channel.close.says_so]
        closed_.store(true, memory_order_release);  // pairs with is_closed()
        while (channel_node* const n = senders_.take()) wakes.add(*n, channel_outcome::closed);
        finish_if_drained(wakes);
    }
    unlock();
    wakes.wake();
}

bool channel_core::is_drained() noexcept {
    lock();
    const bool drained = drained_locked();
    unlock();
    return drained;
}

void channel_core::finish(channel_wakes& wakes) noexcept {
    while (channel_node* const n = receivers_.take()) wakes.add(*n, channel_outcome::closed);
}

const wait_kind channel_wait::kind{.claim = &channel_wait::claim,
                                   .stop = &wait_operation::stop_claimed,
                                   .what = "a channel",
                                   .of_at = sizeof(wait_operation) + sizeof(channel_link),
                                   .queued_at = sizeof(wait_operation)};

bool channel_wait::claim(wait_operation& op) noexcept {
    auto& self = static_cast<channel_wait&>(op);
    self.core->lock();
    const bool waited = channel_queue::remove(self);
    self.core->unlock();
    return waited;
}

bool try_win(channel_node& n) noexcept {
    return n.select->decide(n.position);
}

void wake(channel_node& n) noexcept {
    n.select != nullptr ? n.select->won() : static_cast<channel_wait&>(n).wake();
}

void channel_wakes::wake_all() noexcept {
    for (channel_link* l = first_; l != nullptr;) {
        channel_node& n = *static_cast<channel_node*>(l);
        l = n.before;  // before it is woken: then it may be gone
        detail::wake(n);
    }
}

}  // namespace coflux::detail
