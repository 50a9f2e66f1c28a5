// make_spsc: a bounded queue from one sender to one receiver.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/batch.hpp>
#include <coflux/channel/detail/spsc_awaiters.hpp>
#include <coflux/channel/detail/spsc_state.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A slot in an spsc channel, got from `reserve()`. It can be used once; unused, its death gives the slot back.
///
/// Shapes: movable; keeps the channel's state alive.
/// Threads: counts as the sender: one of them at a time.
template <typename T>
class [[nodiscard("its death gives the slot back")]] spsc_permit {
public:
    explicit spsc_permit(detail::state_handle<detail::spsc_state<T>> s) noexcept : state_(std::move(s)) {}
    spsc_permit(spsc_permit&&) noexcept = default;
    spsc_permit& operator=(spsc_permit&& other) noexcept {
        if (this != &other) {
            give_back();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~spsc_permit() { give_back(); }

    /// Sends; cannot fail, and does not wait. The channel may have been closed since.
    /// Costs: no allocation.
    /// Pre: the permit is unused.
    void send(T value) noexcept {
        COFLUX_VERIFY(state_, "a permit that was used or moved from");
        (void)state_->send(value, true);
        give_back();
    }

private:
    void give_back() noexcept {
        if (!state_) return;
        state_->unreserve();
        state_.reset();
    }

    detail::state_handle<detail::spsc_state<T>> state_;
};

/// The sending end of make_spsc().
///
/// Shapes: shares the channel's state; movable. Its death closes the channel for all but the permits that are out. A
/// sender that is a coroutine's parameter lives until the coroutine's result is taken: where the receiver's end is
/// awaited together with it, close() it.
/// Threads: one at a time; any thread.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("its death closes the channel")]] spsc_sender {
public:
    using value_type = T;

    explicit spsc_sender(detail::state_handle<detail::spsc_state<T>> s) noexcept : state_(std::move(s)) {}
    spsc_sender(spsc_sender&&) noexcept = default;
    spsc_sender& operator=(spsc_sender&& other) noexcept {
        if (this != &other) {
            close();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~spsc_sender() { close(); }

    /// `co_await tx.send(std::move(v))`: waits for a slot, and sends.
    ///
    /// Returns: true if sent; false if the channel is closed, and `value` is then as it was.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is sent then.
    /// Stops: a stop point if no slot is free; a send that is stopped has sent nothing, and the value stays with the
    /// caller.
    /// Costs: one locked instruction; no allocation.
    /// Lifetime: `value` lives until the await is over.
    [[nodiscard("co_await it: nothing is sent until then")]] COFLUX_INLINE detail::spsc_send_request<T, T&&>
    send(T&& value) noexcept {
        return {state(), std::move(value)};
    }
    /// Sends a copy of `value`, which is made first.
    [[nodiscard("co_await it: nothing is sent until then")]] detail::spsc_send_request<T, T> send(const T& value)
        requires std::copy_constructible<T>
    {
        return {state(), T(value)};
    }
    /// Sends if a slot is free; false otherwise, and `value` is then as it was.
    [[nodiscard("false: it was not sent")]] COFLUX_INLINE bool try_send(T&& value) noexcept {
        return state().has_room() && state().send(value, false);
    }
    [[nodiscard("false: it was not sent")]] bool try_send(const T& value)
        requires std::copy_constructible<T>
    {
        T copy(value);
        return try_send(std::move(copy));
    }

    /// `auto permit = co_await tx.reserve();` waits for a slot and keeps it: `permit->send(v)` cannot fail, even if
    /// the channel is closed before.
    ///
    /// Returns: the permit; nothing if the channel is closed.
    /// Resumes, Errors: as send().
    /// Stops: a stop point if no slot is free; loses nothing.
    /// Costs: no allocation.
    [[nodiscard("co_await it: nothing is reserved until then")]] detail::spsc_reserve_request<T, spsc_permit<T>>
    reserve() const noexcept {
        (void)state();
        return {state_};
    }

    /// Gives this end up: the channel is closed.
    void close() noexcept {
        if (!state_) return;
        state_->end();
        state_.reset();
    }
    /// True if nothing can be sent any more: the receiver has closed or is gone.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->is_sealed(); }
    /// How many values fit in.
    [[nodiscard]] std::size_t capacity() const noexcept { return state().capacity(); }

private:
    [[nodiscard]] COFLUX_INLINE detail::spsc_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "an spsc sender that was closed or moved from");
        return *state_;
    }

    detail::state_handle<detail::spsc_state<T>> state_;
};

/// The receiving end of make_spsc().
///
/// Shapes: shares the channel's state; movable. Its death closes the channel and drops what was not received.
/// Threads: one at a time; any thread.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("its death closes the channel")]] spsc_receiver {
public:
    using value_type = T;

    explicit spsc_receiver(detail::state_handle<detail::spsc_state<T>> s) noexcept : state_(std::move(s)) {}
    spsc_receiver(spsc_receiver&&) noexcept = default;
    spsc_receiver& operator=(spsc_receiver&& other) noexcept {
        if (this != &other) {
            gone();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~spsc_receiver() { gone(); }

    /// `co_await rx.receive()`: the next value.
    ///
    /// Returns: the value; nothing once the channel is closed and empty.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is received then.
    /// Stops: a stop point if there is no value; a receive that is stopped has taken nothing.
    /// Costs: one locked instruction; no allocation.
    [[nodiscard("co_await it: nothing is received until then")]] COFLUX_INLINE detail::spsc_receive_request<T>
    receive() noexcept {
        return {state()};
    }

    /// `co_await rx.receive_some(std::span(buffer))`: waits for one value and takes those that are there, as many as
    /// the span holds.
    ///
    /// Returns: how many; 0 once the channel is closed and empty.
    /// Errors: what the assignment of a value throws; that value is lost, the remaining ones are received.
    /// Stops, Resumes: as receive().
    /// Costs: one locked instruction a batch.
    /// Pre: `into` is not empty.
    [[nodiscard("co_await it: nothing is received until then")]] auto receive_some(std::span<T> into) noexcept
        requires std::is_move_assignable_v<T>
    {
        return receive_some(into.size(), into.begin());
    }
    /// receive_some() to an output iterator, for values that are not default-constructible.
    /// Pre: `max` is not 0.
    template <std::output_iterator<T&&> Out>
    [[nodiscard("co_await it: nothing is received until then")]] auto
    receive_some(std::size_t max, Out out) noexcept(std::is_nothrow_move_constructible_v<Out>) {
        COFLUX_VERIFY(max != 0, "receive_some() of nothing");
        using use = detail::batch_into<T, Out>;
        return detail::spsc_batch_request<T, use>{state(), max, use(std::move(out))};
    }

    /// The next value if there is one; does not wait.
    std::optional<T> try_receive() noexcept { return state().receive_one(); }
    /// As many as are there and the span holds; does not wait.
    std::size_t try_receive_some(std::span<T> into)
        requires std::is_move_assignable_v<T>
    {
        return state().receive(into.size(), detail::batch_into<T, typename std::span<T>::iterator>(into.begin()));
    }

    /// From now on the sender cannot send or reserve, and is refused if it waits. What was sent or reserved before can
    /// still be received.
    void close() noexcept { state().close(); }
    /// True if the sender cannot send any more, but by permits that are out; there may be values left.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->is_closed(); }

private:
    [[nodiscard]] COFLUX_INLINE detail::spsc_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "an spsc receiver that was moved from");
        return *state_;
    }
    void gone() noexcept {
        if (!state_) return;
        state_->close();
        (void)state_->receive(state_->capacity(), [](T&&) noexcept {});
        state_.reset();
    }

    detail::state_handle<detail::spsc_state<T>> state_;
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
    auto state = detail::state_handle<detail::spsc_state<T>>::make(resource, capacity);
    auto other = state;
    return {spsc_sender<T>(std::move(state)), spsc_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_spsc(std::size_t, std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
