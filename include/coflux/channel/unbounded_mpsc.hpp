// make_unbounded_mpsc: a queue from many senders to one receiver, without a limit.
#pragma once

#include <concepts>
#include <memory_resource>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/channel/detail/mpsc_state.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/mpsc_receiver.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// The sending end of make_unbounded_mpsc().
///
/// Shapes: shares the channel's state; copyable, each copy is a sender of its own. The death of the last one closes the
/// channel. A sender that is a coroutine's parameter lives until the coroutine's result is taken: where the receiver's
/// end is awaited together with it, close() it.
/// Threads: send() and closed() of one sender from any thread at the same time.
template <typename T>
class [[nodiscard("the death of the last sender closes the channel")]] unbounded_mpsc_sender
    : detail::channel_end<detail::state_handle<detail::mpsc_state<T>>, detail::mpsc_sending> {
public:
    using value_type = T;

    explicit unbounded_mpsc_sender(detail::state_handle<detail::mpsc_state<T>> s) noexcept
        : detail::channel_end<detail::state_handle<detail::mpsc_state<T>>, detail::mpsc_sending>(std::move(s)) {}

    /// Sends a value; never waits.
    ///
    /// Returns: false if the channel is closed; `value` is then as it was.
    /// Errors: std::bad_alloc; nothing is sent then. Exceptions of the copy of a value.
    /// Costs: two locked instructions; an allocation only where the queue grows beyond what it has held before. A
    /// coroutine that sends many in a row keeps a receiver of the same worker from its turn: `co_await yield()` now and
    /// then keeps the queue short, and its memory warm.
    [[nodiscard("false: it was not sent")]] COFLUX_INLINE bool send(T&& value) {
        return this->holds() && this->state().push(std::move(value));
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value)
        requires std::copy_constructible<T>
    {
        T copy(value);
        return send(std::move(copy));
    }

    /// Gives this end up; the last one closes the channel.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: this end was closed, or the receiver has closed or is gone.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().closed(); }
};

/// `auto [tx, rx] = coflux::make_unbounded_mpsc<T>();` makes a queue from many senders to one receiver, first in, first
/// out, that takes what it is given. Nothing slows its senders down: where they can outrun the receiver, make_mpsc()
/// bounds the memory.
///
/// Shapes: `resource` outlives all ends, and may be used by any thread that sends or drops an end.
/// Returns: sender and receiver.
/// Errors: std::bad_alloc.
/// Costs: blocks of 64 values, used again and again and freed with the last end: the queue keeps the memory of its
/// largest backlog.
/// Example: examples/14_queues.cpp
template <queue_value T>
[[nodiscard]] std::pair<unbounded_mpsc_sender<T>, mpsc_receiver<T>>
make_unbounded_mpsc(std::pmr::memory_resource* resource = &frame_pool::shared()) {
    auto state = detail::state_handle<detail::mpsc_state<T>>::make(resource, std::size_t{0});
    auto other = state;
    return {unbounded_mpsc_sender<T>(std::move(state)), mpsc_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_unbounded_mpsc(std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
