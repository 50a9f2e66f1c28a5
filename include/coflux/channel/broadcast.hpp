// make_broadcast: every value to every receiver; a receiver that is too slow is told how many it has missed.
#pragma once

#include <algorithm>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/version_wait.hpp>
#include <coflux/channel/detail/versioned_slots.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// What a receiver of a broadcast gets: a value, or the end, and how many values it has missed in front of it.
template <typename T>
class [[nodiscard]] broadcast_message {
public:
    broadcast_message() noexcept = default;
    broadcast_message(const T& value, std::uint64_t missed) : value_(value), missed_(missed) {}

    /// False at the end.
    explicit operator bool() const noexcept { return value_.has_value(); }
    [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
    T& operator*() noexcept { return *value_; }
    const T& operator*() const noexcept { return *value_; }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }
    /// How many values between the one before and this were overwritten before this receiver came for them.
    [[nodiscard]] std::uint64_t missed() const noexcept { return missed_; }

private:
    std::optional<T> value_;
    std::uint64_t missed_ = 0;
};

namespace detail {

template <typename T>
class broadcast_state : public versioned_slots<T> {
    using board = versioned_slots<T>;

public:
    using node = typename board::node;

    broadcast_state(std::pmr::memory_resource* resource, std::size_t capacity)
        : board(resource),
          ring_(capacity, nullptr, resource) {}
    ~broadcast_state() {
        for (node* const n : ring_) {
            if (n == nullptr) continue;
            n->value().~T();
            this->free(n);
        }
    }

    void send(T&& value) {
        node* const fresh = this->made(std::move(value));
        this->lock();
        node* const old = std::exchange(ring_[slot(this->published())], fresh);
        wait_operation* const all = this->publish();
        const bool dead = this->drop_locked(old);
        this->unlock();
        wake_all(all);
        if (dead) this->dispose(old);
    }
    /// The value `next`, or the oldest that there is. `next` moves on once the value is copied.
    [[nodiscard]] broadcast_message<T> take(std::uint64_t& next) {
        this->lock();
        const std::uint64_t sent = this->published();
        if (sent == next) {
            this->unlock();
            return {};
        }
        const std::uint64_t oldest = sent - std::min<std::uint64_t>(sent, ring_.size());
        const std::uint64_t at = std::max(next, oldest);
        node* const n = ring_[slot(at)];
        this->hold(*n);
        this->unlock();
        struct held {
            broadcast_state& of;
            node* n;
            ~held() { of.drop(n); }
        };
        const held guard{*this, n};
        broadcast_message<T> message(n->value(), at - next);
        next = at + 1;
        return message;
    }
    /// A receiver is gone; without any, what there is cannot be received.
    void receiver_leaves() noexcept {
        if (!this->receiver_gone()) return;
        for (node*& slot : ring_) {
            this->lock();
            // One that subscribes meanwhile gets what is sent from then on.
            node* const n = this->receivers() == 0 ? std::exchange(slot, nullptr) : nullptr;
            const bool dead = this->drop_locked(n);
            this->unlock();
            if (dead) this->dispose(n);
        }
    }
    /// Where a new receiver begins. Counted under the lock, so that nothing that it is to get is dropped.
    [[nodiscard]] std::uint64_t receiver_joins() noexcept {
        this->lock();
        this->receiver_made();
        const std::uint64_t next = this->published();
        this->unlock();
        return next;
    }

private:
    [[nodiscard]] std::size_t slot(std::uint64_t number) const noexcept {
        return static_cast<std::size_t>(number % ring_.size());
    }

    std::pmr::vector<node*> ring_;  ///< elements under the lock: the last values sent, or nullptr
};

template <typename T>
class [[nodiscard]] broadcast_awaiter : version_wait {
public:
    broadcast_awaiter(promise_base& p, broadcast_state<T>& s, std::uint64_t& to_come) noexcept
        : version_wait(p, s, slot_version::after(to_come)),
          state_(s),
          next_(to_come) {}
    [[nodiscard]] bool await_ready() const noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    broadcast_message<T> await_resume() {
        (void)resumed();
        return state_.take(next_);
    }

private:
    broadcast_state<T>& state_;
    std::uint64_t& next_;
};

template <typename T>
using broadcast_request = request<broadcast_awaiter<T>, broadcast_state<T>&, std::uint64_t&>;

}  // namespace detail

/// A receiving end of make_broadcast().
///
/// Shapes: shares the channel's state; movable; subscribe() makes another.
/// Threads: one at a time; any thread.
/// Lifetime: outlives the awaits that it made, and is not moved meanwhile.
template <typename T>
class broadcast_receiver {
public:
    using value_type = T;

    broadcast_receiver(detail::state_handle<detail::broadcast_state<T>> s, std::uint64_t next) noexcept
        : state_(std::move(s)),
          next_(next) {}
    broadcast_receiver(broadcast_receiver&&) noexcept = default;
    broadcast_receiver& operator=(broadcast_receiver&& other) noexcept {
        if (this != &other) {
            close();
            state_ = std::move(other.state_);
            next_ = other.next_;
        }
        return *this;
    }
    ~broadcast_receiver() { close(); }

    /// `while (auto message = co_await rx.receive())`: a copy of the next value, in the order in which they were sent.
    ///
    /// Returns: the value, and how many were missed in front of it; nothing once all senders are gone and the last
    /// value is received.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; what the copy throws; the value can then be received again.
    /// Stops: a stop point if there is nothing new; loses nothing.
    /// Costs: no allocation but that of the copy.
    [[nodiscard("co_await it: nothing is received until then")]] detail::broadcast_request<T> receive() noexcept {
        return {state(), next_};
    }
    /// The next value if there is one; does not wait.
    broadcast_message<T> try_receive() { return state().take(next_); }

    /// Another receiver, which gets what is sent from now on.
    [[nodiscard]] broadcast_receiver subscribe() const noexcept {
        const std::uint64_t next = state().receiver_joins();
        return broadcast_receiver(state_, next);
    }
    /// Gives this end up.
    void close() noexcept {
        if (!state_) return;
        state_->receiver_leaves();
        state_.reset();
    }
    /// True if all senders are gone; there may be values left.
    [[nodiscard]] bool closed() const noexcept {
        return !state_ || (state_->word() & detail::slot_version::ended) != 0;
    }

private:
    [[nodiscard]] detail::broadcast_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "a broadcast receiver that was closed or moved from");
        return *state_;
    }

    detail::state_handle<detail::broadcast_state<T>> state_;
    std::uint64_t next_;
};

/// A sending end of make_broadcast().
///
/// Shapes: shares the channel's state; copyable, each copy is a sender of its own. The death of the last one closes the
/// channel. A sender that is a coroutine's parameter lives until the coroutine's result is taken: where the receiver's
/// end is awaited together with it, close() it.
/// Threads: send() and subscribe() of one sender from any thread at the same time.
template <typename T>
class [[nodiscard("the death of the last sender closes the channel")]] broadcast_sender {
public:
    using value_type = T;

    explicit broadcast_sender(detail::state_handle<detail::broadcast_state<T>> s) noexcept : state_(std::move(s)) {}
    broadcast_sender(const broadcast_sender& other) noexcept : state_(other.state_) {
        if (state_) state_->sender_made();
    }
    broadcast_sender(broadcast_sender&&) noexcept = default;
    broadcast_sender& operator=(broadcast_sender other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~broadcast_sender() { close(); }

    /// Sends to every receiver that there is, and wakes the waiting receivers; never waits: what a receiver has not
    /// taken when the channel is full is overwritten, and the receiver will be told.
    ///
    /// Returns: false if there is no receiver; `value` is then as it was.
    /// Errors: std::bad_alloc; nothing is sent then.
    /// Costs: three short locks; O(waiting receivers); a block while more values are alive than ever before.
    [[nodiscard("false: it was not sent")]] bool send(T&& value) {
        if (state().receivers() == 0) return false;
        state_->send(std::move(value));
        return true;
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value) {
        T copy(value);
        return send(std::move(copy));
    }

    /// A new receiver, which gets what is sent from now on.
    [[nodiscard]] broadcast_receiver<T> subscribe() const noexcept {
        const std::uint64_t next = state().receiver_joins();
        return broadcast_receiver<T>(state_, next);
    }
    /// Gives this end up; the last one closes the channel.
    void close() noexcept {
        if (!state_) return;
        state_->sender_gone();
        state_.reset();
    }
    /// True if there is no receiver now.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->receivers() == 0; }

private:
    [[nodiscard]] detail::broadcast_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "a broadcast sender that was closed or moved from");
        return *state_;
    }

    detail::state_handle<detail::broadcast_state<T>> state_;
};

/// `auto [tx, rx] = coflux::make_broadcast<T>(capacity);` makes a channel that gives every value to every receiver, and
/// keeps the last `capacity` values for late receivers. Nothing slows its senders down.
///
/// Shapes: a `T` that can be copied; `resource` outlives all ends, and may be used by any thread that sends or drops
/// one.
/// Returns: sender and receiver.
/// Errors: std::bad_alloc.
/// Costs: a block for each value that is alive; they are used again. A value dies when `capacity` newer ones were sent,
/// or with the last receiver.
/// Pre: `capacity` is not 0.
/// Example: examples/15_broadcast_and_watch.cpp
template <queue_value T>
    requires std::copy_constructible<T>
[[nodiscard]] std::pair<broadcast_sender<T>, broadcast_receiver<T>>
make_broadcast(std::size_t capacity, std::pmr::memory_resource* resource = &frame_pool::shared()) {
    COFLUX_VERIFY(capacity != 0, "a broadcast channel without a slot");
    auto state = detail::state_handle<detail::broadcast_state<T>>::make(resource, capacity);
    auto other = state;
    const std::uint64_t next = state->receiver_joins();
    return {broadcast_sender<T>(std::move(state)), broadcast_receiver<T>(std::move(other), next)};
}

}  // namespace coflux
