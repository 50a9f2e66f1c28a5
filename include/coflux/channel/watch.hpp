// make_watch: the latest of a value that changes, for any number of readers.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <memory_resource>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/version_wait.hpp>
#include <coflux/channel/detail/versioned_slots.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {
namespace detail {

template <typename T>
class watch_state : public versioned_slots<T> {
    using board = versioned_slots<T>;

public:
    using node = typename board::node;

    watch_state(std::pmr::memory_resource* resource, T&& initial) : board(resource) {
        latest_ = this->made(std::move(initial));
    }
    ~watch_state() {
        latest_->value().~T();
        this->free(latest_);
    }

    void set(T&& value) {
        node* const fresh = this->made(std::move(value));
        this->lock();
        node* const old = std::exchange(latest_, fresh);
        wait_operation* const all = this->publish();
        const bool dead = this->drop_locked(old);
        this->unlock();
        wake_all(all);
        if (dead) this->dispose(old);
    }
    /// The latest value, held, and how much was published with it.
    [[nodiscard]] std::pair<node*, std::uint64_t> look() noexcept {
        this->lock();
        this->hold(*latest_);
        const std::pair<node*, std::uint64_t> result{latest_, this->published()};
        this->unlock();
        return result;
    }

private:
    node* latest_;  ///< under the lock
};

template <typename T>
class [[nodiscard]] watch_awaiter : version_wait {
public:
    watch_awaiter(promise_base& p, watch_state<T>& s, std::uint64_t& seen) noexcept
        : version_wait(p, s, slot_version::after(seen)),
          state_(s),
          seen_(seen) {}
    [[nodiscard]] bool await_ready() const noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    bool await_resume() noexcept {
        (void)resumed();
        const std::uint64_t before = seen_;
        seen_ = state_.published();
        return seen_ != before;
    }

private:
    watch_state<T>& state_;
    std::uint64_t& seen_;
};

template <typename T>
using watch_request = request<watch_awaiter<T>, watch_state<T>&, std::uint64_t&>;

}  // namespace detail

/// A look at the latest value of a watch: the value stays what it is, and alive, while senders publish newer ones. May
/// be kept across awaits.
///
/// Shapes: movable; keeps this one value alive.
/// Threads: one at a time; the value itself may be read by many.
template <typename T>
class [[nodiscard]] watch_ref {
    using state = detail::watch_state<T>;

public:
    watch_ref(detail::state_handle<state> s, typename state::node* held) noexcept : state_(std::move(s)), node_(held) {}
    watch_ref(watch_ref&&) noexcept = default;
    watch_ref& operator=(watch_ref&& other) noexcept {
        if (this != &other) {
            drop();
            state_ = std::move(other.state_);
            node_ = other.node_;
        }
        return *this;
    }
    ~watch_ref() { drop(); }

    const T& operator*() const noexcept { return node_->value(); }
    const T* operator->() const noexcept { return &node_->value(); }

private:
    void drop() noexcept {
        if (!state_) return;
        state_->drop(node_);
        state_.reset();
    }

    detail::state_handle<state> state_;
    typename state::node* node_;
};

/// A reading end of make_watch().
///
/// Shapes: shares the channel's state; copyable, a copy has seen what the original has.
/// Threads: one at a time; copies on any thread.
/// Lifetime: outlives the awaits that it made, and is not moved meanwhile.
template <typename T>
class watch_receiver {
public:
    using value_type = T;

    watch_receiver(detail::state_handle<detail::watch_state<T>> s, std::uint64_t seen) noexcept
        : state_(std::move(s)),
          seen_(seen) {
        state_->receiver_made();
    }
    watch_receiver(const watch_receiver& other) noexcept : state_(other.state_), seen_(other.seen_) {
        if (state_) state_->receiver_made();
    }
    watch_receiver(watch_receiver&&) noexcept = default;
    watch_receiver& operator=(watch_receiver other) noexcept {
        std::swap(state_, other.state_);
        std::swap(seen_, other.seen_);
        return *this;
    }
    ~watch_receiver() {
        if (state_) (void)state_->receiver_gone();
    }

    /// `co_await rx.changed()`: waits for a value that this receiver has not seen, and marks it as seen. Values that
    /// were replaced meanwhile are passed by.
    ///
    /// Returns: true; false once the sender is gone and its last value seen.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait.
    /// Stops: a stop point if there is nothing new; loses nothing.
    /// Costs: no allocation.
    [[nodiscard("co_await it: nothing is waited for until then")]] detail::watch_request<T> changed() noexcept {
        return {state(), seen_};
    }
    /// True if there is a value that this receiver has not seen.
    [[nodiscard]] bool has_changed() const noexcept { return state().published() != seen_; }
    /// True if the sender is gone.
    [[nodiscard]] bool closed() const noexcept { return (state().word() & detail::slot_version::ended) != 0; }

    /// The latest value; it is not marked as seen.
    /// Costs: one short lock, and one at the end of the look.
    [[nodiscard]] watch_ref<T> borrow() const noexcept { return {state_, state().look().first}; }
    /// The latest value, marked as seen: changed() then waits for a newer one.
    [[nodiscard]] watch_ref<T> borrow_and_update() noexcept {
        const auto [node, published] = state().look();
        seen_ = published;
        return {state_, node};
    }
    /// How many values were sent up to the one that was seen last; the initial one is 0.
    [[nodiscard]] std::uint64_t version() const noexcept { return seen_; }

private:
    [[nodiscard]] detail::watch_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "a watch receiver that was moved from");
        return *state_;
    }

    detail::state_handle<detail::watch_state<T>> state_;
    std::uint64_t seen_;
};

/// The writing end of make_watch().
///
/// Shapes: shares the channel's state; movable. Its death closes the channel. A sender that is a coroutine's parameter
/// lives until the coroutine's result is taken: where the receiver's end is awaited together with it, close() it.
/// Threads: one at a time; any thread.
template <typename T>
class [[nodiscard("its death closes the channel")]] watch_sender {
public:
    using value_type = T;

    explicit watch_sender(detail::state_handle<detail::watch_state<T>> s) noexcept : state_(std::move(s)) {}
    watch_sender(watch_sender&&) noexcept = default;
    watch_sender& operator=(watch_sender&& other) noexcept {
        if (this != &other) {
            close();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~watch_sender() { close(); }

    /// Replaces the value, and wakes the waiters for a change; never waits, not for readers either.
    ///
    /// Returns: true if there is a receiver; without one the value is replaced nevertheless, for later subscribers.
    /// Errors: std::bad_alloc; nothing has happened then.
    /// Costs: a block while more values are looked at than ever before.
    [[nodiscard("false: it was not sent")]] bool send(T&& value) {
        state().set(std::move(value));
        return state_->receivers() != 0;
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value)
        requires std::copy_constructible<T>
    {
        T copy(value);
        return send(std::move(copy));
    }

    /// The latest value.
    [[nodiscard]] watch_ref<T> borrow() const noexcept { return {state_, state().look().first}; }
    /// A new receiver, which has seen what there is.
    [[nodiscard]] watch_receiver<T> subscribe() const noexcept { return {state_, state().published()}; }
    /// Gives this end up: the channel is closed.
    void close() noexcept {
        if (!state_) return;
        state_->sender_gone();
        state_.reset();
    }
    /// True if there is no receiver now.
    [[nodiscard]] bool closed() const noexcept { return !state_ || state_->receivers() == 0; }

private:
    [[nodiscard]] detail::watch_state<T>& state() const noexcept {
        COFLUX_VERIFY(state_, "a watch sender that was closed or moved from");
        return *state_;
    }

    detail::state_handle<detail::watch_state<T>> state_;
};

/// `auto [tx, rx] = coflux::make_watch<T>(initial);` makes a value that one side changes and the other side looks at: a
/// configuration, a state, a measure of progress. Readers get the latest value, not each of them.
///
/// Shapes: `resource` outlives all ends and looks, and may be used by any thread that sends or drops one.
/// Returns: sender and receiver, which has seen `initial`.
/// Errors: std::bad_alloc.
/// Costs: a block for each value that is alive; they are used again.
/// Example: examples/15_broadcast_and_watch.cpp
template <queue_value T>
[[nodiscard]] std::pair<watch_sender<T>, watch_receiver<T>>
make_watch(T initial, std::pmr::memory_resource* resource = &frame_pool::shared()) {
    auto state = detail::state_handle<detail::watch_state<T>>::make(resource, std::move(initial));
    auto other = state;
    return {watch_sender<T>(std::move(state)), watch_receiver<T>(std::move(other), 0)};
}

}  // namespace coflux
