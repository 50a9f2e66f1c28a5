// The receiving end of an mpsc channel, bounded or not.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/batch.hpp>
#include <coflux/channel/detail/mpsc_state.hpp>
#include <coflux/channel/detail/shared_state.hpp>

namespace coflux {

/// The receiving end of make_mpsc() and make_unbounded_mpsc(). It gives the values of one sender in the order in which
/// they were sent.
///
/// Shapes: shares the channel's state with the senders; movable. Its death closes the channel and drops what was not
/// received.
/// Threads: one at a time; any thread.
template <typename T>
class [[nodiscard("its death closes the channel")]] mpsc_receiver {
public:
    using value_type = T;

    explicit mpsc_receiver(detail::state_handle<detail::mpsc_state<T>> s) noexcept : state_(std::move(s)) {}
    mpsc_receiver(mpsc_receiver&&) noexcept = default;
    mpsc_receiver& operator=(mpsc_receiver&& other) noexcept {
        if (this != &other) {
            gone();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~mpsc_receiver() { gone(); }

    /// `co_await rx.receive()`: the next value.
    ///
    /// Returns: the value; nothing once the channel is closed and empty.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is received then.
    /// Stops: a stop point if there is no value; a receive that is stopped has taken nothing.
    /// Costs: no allocation.
    [[nodiscard("co_await it: nothing is received until then")]] COFLUX_INLINE detail::mpsc_receive_request<T>
    receive() noexcept {
        return {state()};
    }

    /// `co_await rx.receive_some(std::span(buffer))`: waits for one value and takes those that are there, as many as
    /// the span holds.
    ///
    /// Returns: how many; 0 once the channel is closed and empty.
    /// Errors: what the assignment of a value throws; that value is lost, the remaining ones are received.
    /// Stops, Resumes, Costs: as receive(); one count a batch.
    /// Pre: `into` is not empty.
    [[nodiscard("co_await it: nothing is received until then")]] auto receive_some(std::span<T> into) noexcept
        requires std::is_move_assignable_v<T>
    {
        return receive_some(into.size(), into.begin());
    }
    /// receive_some() to an output iterator, for values that are not default-constructible: `co_await
    /// rx.receive_some(100, std::back_inserter(values))`.
    /// Pre: `max` is not 0.
    template <std::output_iterator<T&&> Out>
    [[nodiscard("co_await it: nothing is received until then")]] auto
    receive_some(std::size_t max, Out out) noexcept(std::is_nothrow_move_constructible_v<Out>) {
        COFLUX_VERIFY(max != 0, "receive_some() of nothing");
        using use = detail::batch_into<T, Out>;
        return detail::mpsc_batch_request<T, use>{state(), max, use(std::move(out))};
    }

    /// The next value if there is one; does not wait. Nothing as well while a sender that came first is not done yet.
    std::optional<T> try_receive() noexcept { return state().receive_one(); }
    /// As many as are there and the span holds; does not wait.
    std::size_t try_receive_some(std::span<T> into)
        requires std::is_move_assignable_v<T>
    {
        return state().receive(into.size(), detail::batch_into<T, typename std::span<T>::iterator>(into.begin()));
    }

    /// From now on no sender can send or reserve, and waiting senders are refused. What was sent or reserved before can
    /// still be received.
    void close() noexcept { state().close(); }
    /// True if no sender can send any more; there may be values left.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->closed(); }

private:
    [[nodiscard]] COFLUX_INLINE detail::mpsc_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "an mpsc receiver that was moved from");
        return *state_;
    }
    void gone() noexcept {
        if (!state_) return;
        state_->close();
        while (state_->receive_one()) {}
        state_.reset();
    }

    detail::state_handle<detail::mpsc_state<T>> state_;
};

}  // namespace coflux
