// make_mpsc: a bounded queue from many senders to one receiver.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/mpsc_state.hpp>
#include <coflux/channel/detail/permits.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/mpsc_receiver.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A slot in a bounded mpsc channel, got from `reserve()`. It can be used once; unused, its death gives the slot
/// back.
///
/// Shapes: movable; keeps the channel's state alive.
/// Threads: one at a time.
template <typename T>
class [[nodiscard("its death gives the slot back")]] mpsc_permit {
public:
    explicit mpsc_permit(detail::state_handle<detail::mpsc_state<T>> s) noexcept : state_(std::move(s)) {}
    mpsc_permit(mpsc_permit&&) noexcept = default;
    mpsc_permit& operator=(mpsc_permit&& other) noexcept {
        if (this != &other) {
            give_back();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~mpsc_permit() { give_back(); }

    /// Sends; cannot fail, and does not wait. The channel may have been closed since.
    /// Costs: no allocation.
    /// Pre: the permit is unused.
    void send(T value) noexcept {
        COFLUX_VERIFY(state_, "a permit that was used or moved from");
        (void)state_->push(std::move(value));
        state_.reset();
    }

private:
    void give_back() noexcept {
        if (!state_) return;
        state_->give_back(1);
        state_.reset();
    }

    detail::state_handle<detail::mpsc_state<T>> state_;
};

namespace detail {

template <typename T>
class [[nodiscard]] mpsc_send_awaiter : permit_wait {
public:
    mpsc_send_awaiter(promise_base& p, mpsc_state<T>& s, T& value) noexcept
        : permit_wait(p, s.slots()),
          state_(s),
          value_(value) {}
    COFLUX_INLINE ~mpsc_send_awaiter() {
        if (is_unresumed()) state_.give_back(1);
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    COFLUX_INLINE bool await_resume() noexcept { return resumed() && state_.push(std::move(value_)); }

private:
    mpsc_state<T>& state_;
    T& value_;
};

template <typename T>
class [[nodiscard]] mpsc_reserve_awaiter : permit_wait {
public:
    mpsc_reserve_awaiter(promise_base& p, const state_handle<mpsc_state<T>>& s) noexcept
        : permit_wait(p, s->slots()),
          state_(s) {}
    ~mpsc_reserve_awaiter() {
        if (is_unresumed()) state_->give_back(1);
    }
    [[nodiscard]] bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    std::optional<mpsc_permit<T>> await_resume() noexcept {
        if (!resumed()) return std::nullopt;
        return std::optional<mpsc_permit<T>>(std::in_place, state_);
    }

private:
    const state_handle<mpsc_state<T>>& state_;
};

/// `Held` is a reference to the caller's value, or the copy.
template <typename T, typename Held>
using mpsc_send_request = request<mpsc_send_awaiter<T>, mpsc_state<T>&, Held>;
template <typename T>
using mpsc_reserve_request = request<mpsc_reserve_awaiter<T>, const state_handle<mpsc_state<T>>&>;

}  // namespace detail

/// The sending end of make_mpsc().
///
/// Shapes: shares the channel's state; copyable, each copy is a sender of its own. The death of the last one closes the
/// channel for all but the permits that are out. A sender that is a coroutine's parameter lives until the coroutine's
/// result is taken: where the receiver's end is awaited together with it, close() it.
/// Threads: all functions but close() of one sender from any thread at the same time.
/// Lifetime: outlives the awaits that it made.
template <typename T>
class [[nodiscard("the death of the last sender closes the channel")]] mpsc_sender {
public:
    using value_type = T;

    explicit mpsc_sender(detail::state_handle<detail::mpsc_state<T>> s) noexcept : state_(std::move(s)) {}
    mpsc_sender(const mpsc_sender& other) noexcept : state_(other.state_) {
        if (state_) state_->sender_copied();
    }
    mpsc_sender(mpsc_sender&&) noexcept = default;
    mpsc_sender& operator=(mpsc_sender other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~mpsc_sender() { close(); }

    /// `co_await tx.send(std::move(v))`: waits for a slot, first come, first served, and sends.
    ///
    /// Returns: true if sent; false if the channel is closed, and `value` is then as it was.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; nothing is sent then.
    /// Stops: a stop point if no slot is free; a send that is stopped has sent nothing, and the value stays with the
    /// caller.
    /// Costs: no allocation.
    /// Lifetime: `value` lives until the await is over, as a temporary does.
    [[nodiscard("co_await it: nothing is sent until then")]] COFLUX_INLINE detail::mpsc_send_request<T, T&&>
    send(T&& value) noexcept {
        return {state(), std::move(value)};
    }
    /// Sends a copy of `value`, which is made first.
    [[nodiscard("co_await it: nothing is sent until then")]] detail::mpsc_send_request<T, T> send(const T& value)
        requires std::copy_constructible<T>
    {
        return {state(), T(value)};
    }
    /// Sends if a slot is free and no coroutine waits for one; false otherwise, and `value` is then as it was.
    [[nodiscard("false: it was not sent")]] COFLUX_INLINE bool try_send(T&& value) noexcept {
        return state().slots().try_acquire() == detail::permits::answer::granted && state().push(std::move(value));
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
    [[nodiscard("co_await it: nothing is reserved until then")]] detail::mpsc_reserve_request<T>
    reserve() const noexcept {
        (void)state();
        return {state_};
    }

    /// Gives this end up; the last one closes the channel.
    void close() noexcept {
        if (!state_) return;
        state_->sender_gone();
        state_.reset();
    }
    /// True if nothing can be sent any more: the receiver has closed or is gone.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->closed(); }
    /// How many values fit in.
    [[nodiscard]] std::size_t capacity() const noexcept { return state().slots().capacity(); }

private:
    [[nodiscard]] COFLUX_INLINE detail::mpsc_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "an mpsc sender that was closed or moved from");
        return *state_;
    }

    detail::state_handle<detail::mpsc_state<T>> state_;
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
    auto state = detail::state_handle<detail::mpsc_state<T>>::make(resource, capacity);
    auto other = state;
    return {mpsc_sender<T>(std::move(state)), mpsc_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_mpsc(std::size_t, std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
