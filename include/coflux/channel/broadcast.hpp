// make_broadcast: every value to every receiver; a receiver that is too slow learns how many it has missed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/versioned_slots.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// The result of a receive of a broadcast: a value, or the end, and how many values it has missed in front of it.
template <typename T>
class [[nodiscard]] broadcast_message {
public:
    broadcast_message() noexcept = default;
    broadcast_message(const T& value, std::uint64_t missed) : value_(value), missed_(missed) {}

    /// False at the end.
    explicit operator bool() const noexcept { return value_.has_value(); }
    [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
    T& operator*() & noexcept { return *value_; }
    const T& operator*() const& noexcept { return *value_; }
    T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return *std::move(value_); }
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
public:
    using slot = versioned_slot<T>;

    broadcast_state(std::pmr::memory_resource* resource, std::size_t capacity)
        : versioned_slots<T>(resource),
          ring_(capacity, nullptr, resource) {}
    ~broadcast_state() {
        for (slot* const n : ring_) this->destroy(n);
    }

    void send(T&& value) {
        this->replace(std::move(value), [this]() noexcept -> slot*& { return ring_[index_of(this->published())]; });
    }
    /// The value `next`, or the oldest that there is. `next` moves on once the value is copied.
    [[nodiscard]] broadcast_message<T> take(std::uint64_t& next) {
        this->lock();
        const std::uint64_t sent = this->published();
        if (sent == next) {
            this->unlock();
            return {};
        }
        const std::uint64_t oldest = sent > ring_.size() ? sent - ring_.size() : 0;
        const std::uint64_t at = next < oldest ? oldest : next;
        slot* const n = ring_[index_of(at)];
        this->hold(*n);
        this->unlock();
        struct held {
            broadcast_state& of;
            slot* n;
            ~held() { of.drop(n); }
        };
        const held guard{*this, n};
        broadcast_message<T> message(n->value(), at - next);
        next = at + 1;
        return message;
    }
    /// A receiver is gone; without any, what there is cannot be received.
    void unsubscribe() noexcept {
        if (!this->remove_receiver()) return;
        for (slot*& each : ring_) {
            this->lock();
            // One that subscribes meanwhile gets what is sent from then on.
            slot* const n = this->receivers() == 0 ? std::exchange(each, nullptr) : nullptr;
            const bool dead = this->drop_locked(n);
            this->unlock();
            if (dead) this->dispose(n);
        }
    }
    /// Where a new receiver begins. Counted under the lock, so that nothing that it is to get is dropped.
    [[nodiscard]] std::uint64_t subscribe() noexcept {
        this->lock();
        this->add_receiver();
        const std::uint64_t next = this->published();
        this->unlock();
        return next;
    }

private:
    [[nodiscard]] std::size_t index_of(std::uint64_t number) const noexcept {
        return static_cast<std::size_t>(number % ring_.size());
    }

    std::pmr::vector<slot*> ring_;  ///< elements under the lock: the last values sent, or nullptr
};

struct broadcast_sending : version_sending {
    using copyable = void;
    static constexpr const char* empty = "a broadcast sender that was closed or moved from";
};
struct broadcast_receiving {
    static constexpr const char* empty = "a broadcast receiver that was closed or moved from";
    static void release(auto& state) noexcept { state.unsubscribe(); }
};

}  // namespace detail

/// A receiving end of make_broadcast().
///
/// Shapes: shares the channel's state; move-only; subscribe() makes another.
/// Threads: one at a time; any thread.
/// Lifetime: outlives the awaits that it made, and is not moved meanwhile.
template <typename T>
class broadcast_receiver
    : detail::channel_end<detail::state_handle<detail::broadcast_state<T>>, detail::broadcast_receiving> {
    using end = detail::channel_end<detail::state_handle<detail::broadcast_state<T>>, detail::broadcast_receiving>;

public:
    using value_type = T;

    broadcast_receiver(detail::state_handle<detail::broadcast_state<T>> s, std::uint64_t next) noexcept
        : end(std::move(s)),
          next_(next) {}

    /// `while (auto message = co_await rx.receive())`: a copy of the next value, in the order in which they were sent.
    ///
    /// Returns: the value, and how many were missed in front of it; nothing once all senders are gone and the last
    /// value is received.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait; what the copy throws; the value can then be received again.
    /// Stops: a stop point if there is nothing new; loses nothing.
    /// Costs: no allocation but that of the copy.
    [[nodiscard("co_await it: nothing is received until then")]] auto receive() noexcept {
        using state = detail::broadcast_state<T>;
        return detail::request<detail::receive_awaiter<detail::cursor_wait<state>>, state&, std::uint64_t&>(
            this->state(), next_);
    }
    /// The next value if there is one; does not wait.
    broadcast_message<T> try_receive() { return this->state().take(next_); }

    /// Another receiver, which gets what is sent from now on.
    [[nodiscard]] broadcast_receiver subscribe() const noexcept {
        const std::uint64_t next = this->state().subscribe();
        return broadcast_receiver(this->reference(), next);
    }
    /// Gives this end up.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: all senders are gone. There may be values left.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().has_ended(); }

private:
    std::uint64_t next_;
};

/// A sending end of make_broadcast().
///
/// Shapes: shares the channel's state; copyable, each copy is a sender of its own. The death of the last one closes the
/// channel. A sender that is a coroutine's parameter lives until the coroutine's result is taken: where the receiver's
/// end is awaited together with it, close() it.
/// Threads: send() and subscribe() of one sender from any thread at the same time.
template <typename T>
class [[nodiscard("the death of the last sender closes the channel")]] broadcast_sender
    : detail::channel_end<detail::state_handle<detail::broadcast_state<T>>, detail::broadcast_sending> {
    using end = detail::channel_end<detail::state_handle<detail::broadcast_state<T>>, detail::broadcast_sending>;

public:
    using value_type = T;

    explicit broadcast_sender(detail::state_handle<detail::broadcast_state<T>> s) noexcept : end(std::move(s)) {}

    /// Sends to every receiver that there is, and wakes the waiting receivers; never waits: what a receiver has not
    /// taken when the channel is full is overwritten, and the receiver will learn of it.
    ///
    /// Returns: false if there is no receiver; `value` is then as it was.
    /// Errors: std::bad_alloc; nothing is sent then.
    /// Costs: three short locks; O(waiting receivers); a block while more values are alive than ever before.
    [[nodiscard("false: it was not sent")]] bool send(T&& value) {
        if (this->state().receivers() == 0) return false;
        this->state().send(std::move(value));
        return true;
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value) {
        T copy(value);
        return send(std::move(copy));
    }

    /// A new receiver, which gets what is sent from now on.
    [[nodiscard]] broadcast_receiver<T> subscribe() const noexcept {
        const std::uint64_t next = this->state().subscribe();
        return broadcast_receiver<T>(this->reference(), next);
    }
    /// Gives this end up; the last one closes the channel.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: this end was closed.
    [[nodiscard]] bool closed() const noexcept { return !this->holds(); }
    /// False if there is no receiver now; subscribe() makes one.
    [[nodiscard]] bool has_receivers() const noexcept { return this->holds() && this->state().receivers() != 0; }
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
    auto state = detail::state_handle<detail::broadcast_state<T>>::make(resource, detail::room_for<T>(capacity));
    auto other = state;
    const std::uint64_t next = state->subscribe();
    return {broadcast_sender<T>(std::move(state)), broadcast_receiver<T>(std::move(other), next)};
}

}  // namespace coflux
