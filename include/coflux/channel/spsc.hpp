// make_spsc: a bounded queue from one sender to one receiver.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/queue_ends.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/spsc_state.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A slot in an spsc channel, got from `reserve()`. It can be used once; unused, its death gives the slot back.
///
/// Shapes: move-only; keeps the channel's state alive.
/// Threads: counts as the sender: one of them at a time.
template <typename T>
class [[nodiscard("its death gives the slot back")]] spsc_permit
    : public detail::queue_permit<T, detail::spsc_state<T>, detail::spsc_reserving> {
public:
    using detail::queue_permit<T, detail::spsc_state<T>, detail::spsc_reserving>::queue_permit;
};

/// The sending end of make_spsc().
///
/// Shapes: shares the channel's state; move-only. Its death closes the channel for all but the permits that are out. A
/// sender that is a coroutine's parameter lives until the coroutine's result is taken: where the receiver's end is
/// awaited together with it, close() it.
/// Threads: one at a time; any thread.
/// Costs: a send: one locked instruction.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("its death closes the channel")]] spsc_sender
    : public detail::queue_sender<T, detail::spsc_state<T>, detail::spsc_sending, spsc_permit<T>> {
public:
    using detail::queue_sender<T, detail::spsc_state<T>, detail::spsc_sending, spsc_permit<T>>::queue_sender;
};

/// The receiving end of make_spsc().
///
/// Shapes: shares the channel's state; move-only. Its death closes the channel and drops what was not received.
/// Threads: one at a time; any thread.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("its death closes the channel")]] spsc_receiver
    : public detail::queue_receiver<T, detail::spsc_state<T>, detail::spsc_receiving> {
public:
    using detail::queue_receiver<T, detail::spsc_state<T>, detail::spsc_receiving>::queue_receiver;
};

/// `auto [tx, rx] = coflux::make_spsc<T>(capacity);` makes a queue from one sender to one receiver that holds at most
/// `capacity` values, sent or reserved.
///
/// Shapes: `resource` outlives both ends, and may be used by the thread that drops the last one.
/// Returns: sender and receiver.
/// Errors: std::bad_alloc.
/// Costs: all memory is taken here: the ring has the next power of two.
/// Pre: `capacity` is not 0.
/// Example: examples/14_queues.cpp
template <queue_value T>
[[nodiscard]] std::pair<spsc_sender<T>, spsc_receiver<T>>
make_spsc(std::size_t capacity, std::pmr::memory_resource* resource = &frame_pool::shared()) {
    COFLUX_VERIFY(capacity != 0, "an spsc channel without a slot");
    auto state = detail::state_handle<detail::spsc_state<T>>::make(resource, detail::room_for<T>(capacity));
    auto other = state;
    return {spsc_sender<T>(std::move(state)), spsc_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_spsc(std::size_t, std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
