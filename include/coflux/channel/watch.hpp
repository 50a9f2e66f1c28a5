// make_watch: the latest of a value that changes, for any number of readers.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory_resource>
#include <utility>

#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/versioned_slots.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {
namespace detail {

template <typename T>
class watch_state : public versioned_slots<T> {
public:
    using slot = versioned_slot<T>;

    watch_state(std::pmr::memory_resource* resource, T&& initial) : versioned_slots<T>(resource) {
        latest_ = this->make(std::move(initial));
    }
    ~watch_state() { this->destroy(latest_); }

    void set(T&& value) {
        this->replace(std::move(value), [this]() noexcept -> slot*& { return latest_; });
    }
    /// Marks all that was published as seen; true if there was more than `seen`.
    bool take(std::uint64_t& seen) noexcept {
        const std::uint64_t before = std::exchange(seen, this->published());
        return seen != before;
    }
    /// The latest value, held, and how much was published with it.
    [[nodiscard]] std::pair<slot*, std::uint64_t> look() noexcept {
        this->lock();
        this->hold(*latest_);
        const std::pair<slot*, std::uint64_t> result{latest_, this->published()};
        this->unlock();
        return result;
    }

private:
    slot* latest_;  ///< under the lock
};

struct watch_sending : version_sending {
    static constexpr const char* empty = "a watch sender that was closed or moved from";
};
struct watch_receiving {
    using copyable = void;
    static constexpr const char* empty = "a watch receiver that was moved from";
    static void copied(auto& state) noexcept { state.add_receiver(); }
    static void release(auto& state) noexcept { (void)state.remove_receiver(); }
};
template <typename T>
struct watch_looking {
    void release(watch_state<T>& state) const noexcept { state.drop(slot); }

    versioned_slot<T>* slot;
};

}  // namespace detail

/// A look at the latest value of a watch: the value stays what it is, and alive, while senders publish newer ones. May
/// be kept across awaits.
///
/// Shapes: move-only; keeps this one value alive.
/// Threads: one at a time; the value itself may be read by many.
template <typename T>
class [[nodiscard]] watch_ref
    : detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_looking<T>> {
    using end = detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_looking<T>>;

public:
    watch_ref(detail::state_handle<detail::watch_state<T>> s, detail::versioned_slot<T>* held) noexcept
        : end(std::move(s), detail::watch_looking<T>{held}) {}

    const T& operator*() const noexcept COFLUX_LIFETIMEBOUND { return this->role().slot->value(); }
    const T* operator->() const noexcept { return &this->role().slot->value(); }
};

/// A reading end of make_watch().
///
/// Shapes: shares the channel's state; copyable, a copy has seen what the original has.
/// Threads: one at a time; copies on any thread.
/// Lifetime: outlives the awaits that it made, and is not moved meanwhile.
template <typename T>
class watch_receiver : detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_receiving> {
    using end = detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_receiving>;

public:
    using value_type = T;

    watch_receiver(detail::state_handle<detail::watch_state<T>> s, std::uint64_t seen) noexcept
        : end(std::move(s)),
          seen_(seen) {
        this->state().add_receiver();
    }

    /// `co_await rx.changed()`: waits for a value that this receiver has not seen, and marks it as seen. Values that
    /// were replaced meanwhile are passed by.
    ///
    /// Returns: true; false once the sender is gone and its last value seen.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::bad_alloc in a coroutine's first wait.
    /// Stops: a stop point if there is nothing new; loses nothing.
    /// Costs: no allocation.
    [[nodiscard("co_await it: nothing is waited for until then")]] auto changed() noexcept {
        using state = detail::watch_state<T>;
        return detail::request<detail::receive_awaiter<detail::cursor_wait<state>>, state&, std::uint64_t&>(
            this->state(), seen_);
    }
    /// True if there is a value that this receiver has not seen.
    [[nodiscard]] bool has_changed() const noexcept { return this->state().published() != seen_; }
    /// True if nothing can be sent any more: the sender is gone. Its last value may not be seen yet.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().has_ended(); }

    /// The latest value; it is not marked as seen.
    /// Costs: one short lock, and one at the end of the look.
    [[nodiscard]] watch_ref<T> borrow() const noexcept { return {this->reference(), this->state().look().first}; }
    /// The latest value, marked as seen: changed() then waits for a newer one.
    [[nodiscard]] watch_ref<T> borrow_and_update() noexcept {
        const auto [slot, published] = this->state().look();
        seen_ = published;
        return {this->reference(), slot};
    }
    /// How many values were sent up to the one that was seen last; the initial one is 0.
    [[nodiscard]] std::uint64_t version() const noexcept { return seen_; }

private:
    std::uint64_t seen_;
};

/// The writing end of make_watch().
///
/// Shapes: shares the channel's state; move-only. Its death closes the channel. A sender that is a coroutine's
/// parameter lives until the coroutine's result is taken: where the receiver's end is awaited together with it, close()
/// it.
/// Threads: one at a time; any thread.
template <typename T>
class [[nodiscard("its death closes the channel")]] watch_sender
    : detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_sending> {
    using end = detail::channel_end<detail::state_handle<detail::watch_state<T>>, detail::watch_sending>;

public:
    using value_type = T;

    explicit watch_sender(detail::state_handle<detail::watch_state<T>> s) noexcept : end(std::move(s)) {}

    /// Replaces the value, and wakes the waiters for a change; never waits, not for readers either.
    ///
    /// Returns: true if there is a receiver; without one the value is replaced nevertheless, for later subscribers.
    /// Errors: std::bad_alloc; nothing has happened then.
    /// Costs: a block while more values are looked at than ever before.
    [[nodiscard("false: it was not sent")]] bool send(T&& value) {
        this->state().set(std::move(value));
        return this->state().receivers() != 0;
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value)
        requires std::copy_constructible<T>
    {
        T copy(value);
        return send(std::move(copy));
    }

    /// The latest value.
    [[nodiscard]] watch_ref<T> borrow() const noexcept { return {this->reference(), this->state().look().first}; }
    /// A new receiver, which has seen what there is.
    [[nodiscard]] watch_receiver<T> subscribe() const noexcept {
        return {this->reference(), this->state().published()};
    }
    /// Gives this end up: the channel is closed.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: this end was closed.
    [[nodiscard]] bool closed() const noexcept { return !this->holds(); }
    /// False if there is no receiver now; subscribe() makes one.
    [[nodiscard]] bool has_receivers() const noexcept { return this->holds() && this->state().receivers() != 0; }
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
