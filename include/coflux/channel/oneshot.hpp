// make_oneshot: one value from one sender to one receiver.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/channel/detail/atomic_waiter.hpp>
#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {
namespace detail {

template <typename T>
class oneshot_state : public shared_state {
public:
    explicit oneshot_state(std::pmr::memory_resource* resource) noexcept : shared_state(resource) {}
    ~oneshot_state() {
        if (word_.load(memory_order_relaxed) == sent) value().~T();  // relaxed: the last end has seen what both did
    }

    /// Sender, once. False, and `v` is as it was, if the receiver has closed.
    [[nodiscard]] bool send(T&& v) noexcept {
        if (is_closed()) return false;
        T* const placed = ::new (static_cast<void*>(value_)) T(std::move(v));
        std::uintptr_t seen = 0;
        // release pairs with the receiver's acquire: the value is there. acquire with the release of its CAS in
        // atomic_waiter.
        while (!word_.compare_exchange_weak(seen, sent, memory_order_acq_rel, memory_order_acquire)) {
            if (seen != closed) continue;
            give_back(v, *placed);  // closed in this very moment
            return false;
        }
        wake(seen);
        return true;
    }
    /// Either end: there will be no value, unless there is one already.
    void close() noexcept {
        std::uintptr_t seen = word_.load(memory_order_relaxed);
        do {
            if (seen == sent || seen == taken || seen == closed) return;
            // acq_rel: as in send()
        } while (!word_.compare_exchange_weak(seen, closed, memory_order_acq_rel, memory_order_relaxed));
        wake(seen);
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return word_.load(memory_order_relaxed) == closed;  // relaxed: an answer that may be old at once
    }

    /// Receiver: there is a value or was one, or there never will be one.
    [[nodiscard]] bool settled() const noexcept {
        const std::uintptr_t w = word_.load(memory_order_acquire);  // pairs with the CAS in send()
        return w >= sent && w <= closed;
    }
    /// Receiver.
    [[nodiscard]] bool drained() const noexcept {
        const std::uintptr_t w = word_.load(memory_order_relaxed);  // relaxed: as in is_closed()
        return w == taken || w == closed;
    }
    [[nodiscard]] atomic<std::uintptr_t>& word() noexcept { return word_; }
    std::optional<T> take() noexcept {
        std::optional<T> result;
        if (word_.load(memory_order_acquire) != sent) return result;  // as in settled()
        result.emplace(std::move(value()));
        value().~T();
        word_.store(taken,
                    memory_order_relaxed);  // the sender is done with the word; the last end gets it by its count
        return result;
    }

private:
    static void wake(std::uintptr_t left) noexcept {
        if (left > closed) reinterpret_cast<wait_operation*>(left)->wake();
    }
    [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(value_)); }

    // | value            | meaning                                 | leaves it                                    |
    // | ---------------- | --------------------------------------- | -------------------------------------------- |
    // | 0 or `marked`    | nothing has happened                    | sender → sent; either end → closed; receiver |
    // | a pointer > 6    | the receiver's wait_operation: it waits | sender → sent; sender's death → closed; stop |
    // | sent             | the value is there                      | receiver → taken                             |
    // | taken            | it was received                         | nothing                                      |
    // | closed           | there is no value and never will be     | nothing                                      |
    static constexpr std::uintptr_t sent = 4;
    static constexpr std::uintptr_t taken = 5;
    static constexpr std::uintptr_t closed = 6;
    atomic<std::uintptr_t> word_{0};
    alignas(T) std::byte value_[sizeof(T)];
};

/// Waits for the value, or for the news that there will be none.
template <typename T>
class oneshot_wait : protected atomic_waiter {
public:
    oneshot_wait(promise_base& p, oneshot_state<T>& s) noexcept : atomic_waiter(p), state_(s) {}

protected:
    [[nodiscard]] bool is_there() const noexcept { return state_.settled(); }
    std::coroutine_handle<> wait() { return wait_in(state_.word()); }
    [[nodiscard]] std::optional<T> take() noexcept { return state_.take(); }

private:
    oneshot_state<T>& state_;
};

struct oneshot_sending {
    static constexpr const char* empty = "a oneshot sender that has sent, or was closed or moved from";
    static void release(auto& state) noexcept { state.close(); }
};
struct oneshot_receiving {
    static constexpr const char* empty = "a oneshot receiver that was moved from";
    static void release(auto& state) noexcept {
        state.close();
        (void)state.take();
    }
};

}  // namespace detail

/// The sending end of make_oneshot().
///
/// Shapes: shares the channel's state; move-only. Its death without a send tells the receiver that there is no value.
/// Threads: one at a time; any thread.
template <typename T>
class [[nodiscard("its death tells the receiver that there is no value")]] oneshot_sender
    : detail::channel_end<detail::state_handle<detail::oneshot_state<T>>, detail::oneshot_sending> {
    using end = detail::channel_end<detail::state_handle<detail::oneshot_state<T>>, detail::oneshot_sending>;

public:
    using value_type = T;

    explicit oneshot_sender(detail::state_handle<detail::oneshot_state<T>> s) noexcept : end(std::move(s)) {}

    /// Sends the value; never waits.
    ///
    /// Returns: false if the receiver has closed or is gone; `value` is then as it was.
    /// Costs: one locked instruction, and one for the end that it gives up.
    /// Pre: nothing was sent before.
    [[nodiscard("false: it was not sent")]] bool send(T&& value) noexcept {
        const bool sent = this->state().send(std::move(value));
        if (sent) this->drop();
        return sent;
    }
    [[nodiscard("false: it was not sent")]] bool send(const T& value)
        requires std::copy_constructible<T>
    {
        T copy(value);
        return send(std::move(copy));
    }

    /// Gives this end up: there will be no value.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: the value was sent, this end was closed, or the receiver has closed or is
    /// gone.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().is_closed(); }
};

/// The receiving end of make_oneshot(): `std::optional<T> v = co_await rx;`
///
/// Shapes: shares the channel's state; move-only. Its death refuses the send.
/// Returns: the value; nothing if the sender died without one, or if the value was taken already.
/// Resumes: on the coroutine's own executor.
/// Errors: std::bad_alloc in a coroutine's first wait.
/// Stops: a stop point if nothing has happened yet; loses nothing: the value stays with the receiver.
/// Threads: one at a time; any thread.
/// Costs: no allocation.
template <typename T>
class [[nodiscard("its death refuses the send")]] oneshot_receiver
    : detail::channel_end<detail::state_handle<detail::oneshot_state<T>>, detail::oneshot_receiving> {
    using end = detail::channel_end<detail::state_handle<detail::oneshot_state<T>>, detail::oneshot_receiving>;

public:
    using value_type = T;

    explicit oneshot_receiver(detail::state_handle<detail::oneshot_state<T>> s) noexcept : end(std::move(s)) {}

    /// `co_await rx.receive()` is `co_await` of the receiver itself.
    [[nodiscard("co_await it: nothing is received until then")]] auto receive() noexcept {
        using state = detail::oneshot_state<T>;
        return detail::request<detail::receive_awaiter<detail::oneshot_wait<T>>, state&>(this->state());
    }

    /// The value if it is there; does not wait.
    std::optional<T> try_receive() noexcept { return this->state().take(); }
    /// Refuses the send. A value that is there already can still be received.
    void close() noexcept { this->state().close(); }
    /// True if nothing can be sent any more: the value was sent, the sender is gone, or this end was closed. The value
    /// may be there.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().settled(); }
    /// True if nothing can be received any more: the value was taken, or there never will be one.
    [[nodiscard]] bool drained() const noexcept { return !this->holds() || this->state().drained(); }
};

namespace detail {

template <typename T>
struct awaited_as<oneshot_receiver<T>> {
    static auto request(oneshot_receiver<T>& rx) noexcept { return rx.receive(); }
    static auto request(oneshot_receiver<T>&& rx) noexcept { return rx.receive(); }
};

}  // namespace detail

/// `auto [tx, rx] = coflux::make_oneshot<T>();` makes a channel for one value: an answer, a hand-over, a promise kept
/// once.
///
/// Shapes: `resource` outlives both ends, and may be used by the thread that drops the last one.
/// Returns: sender and receiver.
/// Errors: std::bad_alloc.
/// Costs: one allocation.
/// Example: examples/14_queues.cpp
template <queue_value T>
[[nodiscard]] std::pair<oneshot_sender<T>, oneshot_receiver<T>>
make_oneshot(std::pmr::memory_resource* resource = &frame_pool::shared()) {
    auto state = detail::state_handle<detail::oneshot_state<T>>::make(resource);
    auto other = state;
    return {oneshot_sender<T>(std::move(state)), oneshot_receiver<T>(std::move(other))};
}
template <typename T>
    requires(!queue_value<T>)
auto make_oneshot(std::pmr::memory_resource* = nullptr) {
    return detail::refuse_queue_of<T>();
}

}  // namespace coflux
