// make_mpsc: a bounded queue from many senders to one receiver.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/mpsc_state.hpp>
#include <coflux/channel/detail/queue_ends.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/mpsc_receiver.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A slot in a bounded mpsc channel, got from `reserve()`. It can be used once; unused, its death gives the slot
/// back.
///
/// Shapes: move-only; keeps the channel's state alive.
/// Threads: one at a time.
template <typename T>
class [[nodiscard("its death gives the slot back")]] mpsc_permit
    : public detail::queue_permit<T, detail::mpsc_state<T>, detail::mpsc_reserving> {
public:
    using detail::queue_permit<T, detail::mpsc_state<T>, detail::mpsc_reserving>::queue_permit;
};

/// The sending end of make_mpsc().
///
/// Shapes: shares the channel's state; copyable, each copy is a sender of its own. The death of the last one closes the
/// channel for all but the permits that are out. A sender that is a coroutine's parameter lives until the coroutine's
/// result is taken: where the receiver's end is awaited together with it, close() it.
/// Threads: all functions but close() of one sender from any thread at the same time.
/// Costs: a send: three locked instructions.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("the death of the last sender closes the channel")]] mpsc_sender
    : public detail::queue_sender<T, detail::mpsc_state<T>, detail::mpsc_sending, mpsc_permit<T>> {
public:
    using detail::queue_sender<T, detail::mpsc_state<T>, detail::mpsc_sending, mpsc_permit<T>>::queue_sender;
};

/// `auto [tx, rx] = coflux::make_mpsc<T>(capacity);` makes a queue from many senders to one receiver that holds at most
/// `capacity` values, sent or reserved; further senders wait, first come, first served.
///
/// Shapes: `resource` outlives all ends, and may be used by any thread that drops one.
/// Returns: sender and receiver.
/// Errors: std::bad_alloc.
/// Costs: all memory is taken here: blocks of 64 values, two more than the capacity fills.
/// Pre: `capacity` is not 0.
/// Example: examples/14_queues.cpp
template <queue_value T>
[[nodiscard]] std::pair<mpsc_sender<T>, mpsc_receiver<T>>
make_mpsc(std::size_t capacity, std::pmr::memory_resource* resource = &frame_pool::shared()) {
    COFLUX_VERIFY(capacity != 0, "an mpsc channel without a slot");
    auto state = detail::state_handle<detail::mpsc_state<T>>::make(resource, detail::room_for<T>(capacity));
    auto other = state;
    return {mpsc_sender<T>(std::move(state)), mpsc_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_mpsc(std::size_t, std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
