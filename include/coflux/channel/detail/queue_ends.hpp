// The operations of the ends of spsc and mpsc channels.
//
// Their states have, for this: `send_wait` and `receive_wait`, for queue_awaiters.hpp; `try_send(T&)`,
// `send_reserved(T&)`, `receive_one()`, `receive(max, use)`, `capacity()` and `close()`.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// Moves values one by one to where `Out` points.
template <typename T, typename Out>
class batch_into {
public:
    explicit batch_into(Out out) : out_(std::move(out)) {}
    void operator()(T&& value) {
        *out_ = std::move(value);
        ++out_;
    }

private:
    Out out_;
};

/// A slot that is kept for one value.
template <typename T, typename State, typename Role>
class queue_permit : channel_end<state_handle<State>, Role> {
public:
    explicit queue_permit(state_handle<State> s) noexcept : channel_end<state_handle<State>, Role>(std::move(s)) {}

    /// Sends; cannot fail, and does not wait. The channel may have been closed since.
    /// Costs: no allocation.
    /// Pre: the permit is unused.
    void send(T value) noexcept {
        this->state().send_reserved(value);
        this->drop();
    }
};

template <typename T, typename State, typename Role, typename Permit>
class queue_sender : channel_end<state_handle<State>, Role> {
public:
    using value_type = T;

    explicit queue_sender(state_handle<State> s) noexcept : channel_end<state_handle<State>, Role>(std::move(s)) {}

    /// `co_await tx.send(std::move(v))`: waits for a slot, first come, first served, and sends.
    ///
    /// Returns: true if sent; false if the channel is closed, and `value` is then as it was.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is sent then.
    /// Stops: a stop point if no slot is free; a send that is stopped has sent nothing, and the value stays with the
    /// caller.
    /// Costs: no allocation.
    /// Lifetime: `value` lives until the await is over, as a temporary does.
    [[nodiscard("co_await it: nothing is sent until then")]] COFLUX_INLINE auto
    send(T&& value COFLUX_LIFETIMEBOUND) noexcept {
        return request<send_awaiter<typename State::send_wait, T, Permit>, State&, T&&>(this->state(),
                                                                                        std::move(value));
    }
    /// Sends a copy of `value`, which is made first.
    [[nodiscard("co_await it: nothing is sent until then")]] auto send(const T& value)
        requires std::copy_constructible<T>
    {
        return request<send_awaiter<typename State::send_wait, T, Permit>, State&, T>(this->state(), T(value));
    }
    /// Sends if a slot is free and no coroutine waits for one; false otherwise, and `value` is then as it was.
    [[nodiscard("false: it was not sent")]] COFLUX_INLINE bool try_send(T&& value) noexcept {
        return this->state().try_send(value);
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
    /// Resumes, Errors, Costs: as send().
    /// Stops: a stop point if no slot is free; loses nothing.
    [[nodiscard("co_await it: nothing is reserved until then")]] auto reserve() const noexcept {
        return request<reserve_awaiter<typename State::send_wait, Permit>, State&>(this->state());
    }

    /// Gives this end up; the last sender closes the channel.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: this end was closed, or the receiver has closed or is gone.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || Role::is_closed(this->state()); }
    /// How many values fit in.
    [[nodiscard]] std::size_t capacity() const noexcept { return this->state().capacity(); }
};

template <typename T, typename State, typename Role>
class queue_receiver : channel_end<state_handle<State>, Role> {
public:
    using value_type = T;

    explicit queue_receiver(state_handle<State> s) noexcept : channel_end<state_handle<State>, Role>(std::move(s)) {}

    /// `co_await rx.receive()`: the next value.
    ///
    /// Returns: the value; nothing once the channel is closed and empty.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is received then.
    /// Stops: a stop point if there is no value; a receive that is stopped has taken nothing, nor has a case of a
    /// select() that loses.
    /// Costs: at most one locked instruction; no allocation.
    [[nodiscard("co_await it: nothing is received until then")]] COFLUX_INLINE auto receive() noexcept {
        return request<receive_awaiter<typename State::receive_wait>, State&>(this->state());
    }

    /// `co_await rx.receive_some(std::span(buffer))`: waits for one value and takes those that are there, as many as
    /// the span holds.
    ///
    /// Returns: how many; 0 once the channel is closed and empty.
    /// Errors: what the assignment of a value throws; that value is lost, the remaining ones are received.
    /// Stops, Resumes: as receive().
    /// Costs: at most one locked instruction a batch.
    /// Pre: `into` is not empty.
    [[nodiscard("co_await it: nothing is received until then")]] auto receive_some(std::span<T> into) noexcept
        requires std::is_move_assignable_v<T>
    {
        return receive_some(into.begin(), into.size());
    }
    /// receive_some() to an output iterator, for values that are not default-constructible: `co_await
    /// rx.receive_some(std::back_inserter(values), 100)`.
    /// Pre: `max` is not 0.
    template <std::output_iterator<T&&> Out>
    [[nodiscard("co_await it: nothing is received until then")]] auto
    receive_some(Out out, std::size_t max) noexcept(std::is_nothrow_move_constructible_v<Out>) {
        COFLUX_VERIFY(max != 0, "receive_some() of nothing");
        using use = batch_into<T, Out>;
        return request<batch_awaiter<typename State::receive_wait, use>, State&, std::size_t, use>(this->state(), max,
                                                                                                   use(std::move(out)));
    }
    // Not in the other order.
    template <std::integral N, typename Out>
    void receive_some(N, Out) {
        static_assert(never<N>, "coflux: the place comes first, then the number: write receive_some(out, max)");
    }

    /// The next value if there is one; does not wait. Nothing as well while a sender that came first is not done yet.
    std::optional<T> try_receive() noexcept { return this->state().receive_one(); }
    /// As many as are there and the span holds; does not wait.
    std::size_t try_receive_some(std::span<T> into)
        requires std::is_move_assignable_v<T>
    {
        return this->state().receive(into.size(), batch_into<T, typename std::span<T>::iterator>(into.begin()));
    }

    /// From now on no sender can send or reserve, and waiting senders are refused. Values that were sent or reserved
    /// before can still be received.
    void close() noexcept { this->state().close(); }
    /// True if nothing can be sent any more, but by permits that are out; there may be values left. The receiver of an
    /// spsc channel whose sender has ended says so once these permits are gone, too.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || Role::is_closed(this->state()); }
};

}  // namespace coflux::detail
