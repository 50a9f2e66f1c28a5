// delay_queue: values that can be received when their moments have come.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/memory/frame_pool.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/delay_wait.hpp>

namespace coflux {

template <typename T>
class delay_queue;

/// The name of a value in a delay_queue, from its push() on. It may be kept when the value has gone.
class delay_key {
public:
    /// Names nothing.
    delay_key() noexcept = default;
    /// True if it came from a push() that took the value.
    explicit operator bool() const noexcept { return node_ != nullptr; }
    friend bool operator==(const delay_key&, const delay_key&) noexcept = default;

private:
    template <typename T>
    friend class delay_queue;
    delay_key(detail::delay_item& node, std::uint64_t id) noexcept : node_(&node), id_(id) {}

    detail::delay_item* node_ = nullptr;
    std::uint64_t id_ = 0;
};

/// Values with moments, from many coroutines to many: `auto key = due.push(std::move(job), 30s);` and elsewhere `while
/// (auto job = co_await due.pop())`. They come in the order of their moments, and those of one moment in the order of
/// their push() or reset().
///
/// It takes what it is given, as an unbounded channel does: what waits in it waits for a moment, and not for a
/// receiver.
///
/// Shapes: T is a queue_value; move-only is enough. `resource` outlives the queue, and may be used by any thread that
/// pushes.
/// Errors: std::bad_alloc from push().
/// Threads: all members from any.
/// Costs: O(log n) for each operation, at worst too, under a lock. Memory for each value, which is used again and again
/// and freed with the queue: it keeps that of its largest number of values.
/// Lifetime: outlives its waiters, which the destructor checks, and its keys. Ends what was not received.
/// Example: examples/52_delay_queue.cpp
template <typename T>
class delay_queue : private detail::delay_state {
    static_assert(queue_value<T>,
                  "coflux: a delay_queue's values must be objects that move and die without throwing: put in a "
                  "std::unique_ptr of it");

    class pop_awaiter;
    class claim_awaiter;
    template <typename Awaiter>
    using request = detail::request<Awaiter, delay_queue&>;

public:
    using value_type = T;
    using key = delay_key;

    explicit delay_queue(std::pmr::memory_resource* resource = &frame_pool::shared()) noexcept : resource_(resource) {}
    ~delay_queue() {
        COFLUX_VERIFY(!is_awaited(), "a delay_queue was destroyed while coroutines wait for it");
        while (detail::delay_item* const n = take_left()) {
            value_of(*n).~T();
            give_back_memory(*n);
        }
        while (detail::delay_item* const n = take_free()) give_back_memory(*n);
    }

    /// Puts a value in, to come after `after`, counted from this call, or at `when`. Never waits.
    ///
    /// Shapes: any duration; a moment of any clock, as in sleep_until(). One that is not positive, or has passed, comes
    /// at once. One that is too far to be counted never comes.
    /// Returns: the key of the value. One that is false if the queue is closed; `value` is then as it was.
    /// Errors: std::bad_alloc; nothing is put in then. Exceptions of the copy of a value.
    template <typename Rep, typename Period>
    [[nodiscard("false: it was not taken")]] key push(T&& value, std::chrono::duration<Rep, Period> after) {
        return push_at(value, detail::later(clock::now(), after));
    }
    template <typename Clock, typename Duration>
    [[nodiscard("false: it was not taken")]] key push(T&& value, std::chrono::time_point<Clock, Duration> when) {
        return push_at(value, detail::on_steady_clock(when));
    }
    template <typename Rep, typename Period>
        requires std::copy_constructible<T>
    [[nodiscard("false: it was not taken")]] key push(const T& value, std::chrono::duration<Rep, Period> after) {
        T copy(value);
        return push(std::move(copy), after);
    }
    template <typename Clock, typename Duration>
        requires std::copy_constructible<T>
    [[nodiscard("false: it was not taken")]] key push(const T& value, std::chrono::time_point<Clock, Duration> when) {
        T copy(value);
        return push(std::move(copy), when);
    }
    template <std::integral N>
    key push(const T&, N) {
        static_assert(detail::never<N>, "coflux: a number has no unit: write push(value, 5ms), or 5s, with "
                                        "`using namespace std::chrono_literals`");
        return {};
    }

    /// `while (auto value = co_await q.pop())`: receives the next value whose moment has come.
    ///
    /// Returns: std::optional of it; empty when the queue is closed and nothing is left in it.
    /// Resumes: on the coroutine's executor, in the order in which they came, never early.
    /// Errors: as timer::wait().
    /// Stops: a stop point where it must wait; loses nothing.
    [[nodiscard("nothing is received until this is awaited: co_await it")]] request<pop_awaiter> pop() noexcept {
        return {*this};
    }
    /// Receives a value whose moment has come, if there is one and there are no waiters.
    [[nodiscard("what was received is lost")]] std::optional<T> try_pop() noexcept {
        detail::delay_item* const n = take_due();
        return n != nullptr ? std::optional<T>(taken_from(*n)) : std::nullopt;
    }

    /// Takes the value of `k` out before its moment.
    ///
    /// Returns: the value; empty if it has been received or removed.
    /// Pre: `k` came from this queue.
    std::optional<T> remove(key k) noexcept {
        detail::delay_item* const n = take_named(k.node_, k.id_);
        return n != nullptr ? std::optional<T>(taken_from(*n)) : std::nullopt;
    }
    /// Gives the value of `k` another moment, as push() does; among those of that moment it is the last.
    ///
    /// Returns: false if it has been received or removed.
    /// Pre: as remove().
    template <typename Rep, typename Period>
    bool reset(key k, std::chrono::duration<Rep, Period> after) noexcept {
        return move_named(k.node_, k.id_, detail::later(clock::now(), after));
    }
    template <typename Clock, typename Duration>
    bool reset(key k, std::chrono::time_point<Clock, Duration> when) noexcept {
        return move_named(k.node_, k.id_, detail::on_steady_clock(when));
    }

    /// Nothing can be put in any more. The values in it still come, each at its moment; then pop() gives nothing. May
    /// be called again.
    void close() noexcept { delay_state::close(); }
    /// True if nothing can be put in any more; there may be values left.
    [[nodiscard]] bool closed() const noexcept { return delay_state::closed(); }
    /// How many values are in it, whether their moments have come or not.
    [[nodiscard]] std::size_t size() const noexcept { return delay_state::size(); }

private:
    class taken;

    struct item : detail::delay_item {
        alignas(T) std::byte memory[sizeof(T)];
    };

    [[nodiscard]] static T& value_of(detail::delay_item& n) noexcept {
        return *std::launder(reinterpret_cast<T*>(static_cast<item&>(n).memory));
    }
    key push_at(T& value, detail::steady_time when) {
        detail::delay_item* n = take_free();
        if (n == nullptr) n = ::new (resource_->allocate(sizeof(item), alignof(item))) item;
        T* const there = ::new (static_cast<void*>(static_cast<item&>(*n).memory)) T(std::move(value));
        if (const std::uint64_t id = put_in(*n, when); id != 0) return {*n, id};
        detail::give_back(value, *there);
        free_unused(*n);
        return {};
    }
    T taken_from(detail::delay_item& n) noexcept {
        T& there = value_of(n);
        T value(std::move(there));
        there.~T();
        free(n);
        return value;
    }
    void give_back_memory(detail::delay_item& n) noexcept {
        auto& all = static_cast<item&>(n);
        all.~item();
        resource_->deallocate(&all, sizeof(item), alignof(item));
    }

    std::pmr::memory_resource* const resource_;
};

/// The part that a select took, and gives back if it decides otherwise.
template <typename T>
class delay_queue<T>::taken {
public:
    taken(delay_queue& of, detail::delay_item* n) noexcept : of_(of), item_(n) {}
    taken(taken&& from) noexcept : of_(from.of_), item_(std::exchange(from.item_, nullptr)) {}
    taken& operator=(taken&&) = delete;
    ~taken() {
        if (item_ != nullptr) of_.put_back(*item_);
    }
    std::optional<T> value() && noexcept {
        if (item_ == nullptr) return std::nullopt;
        return std::optional<T>(of_.taken_from(*std::exchange(item_, nullptr)));
    }

private:
    delay_queue& of_;
    detail::delay_item* item_;
};

template <typename T>
class [[nodiscard]] delay_queue<T>::claim_awaiter : public detail::delay_wait {
public:
    claim_awaiter(detail::promise_base& p, delay_queue& of) noexcept : delay_wait(p, of) {}
    taken await_resume() noexcept { return {static_cast<delay_queue&>(queue()), received()}; }
};

template <typename T>
class [[nodiscard]] delay_queue<T>::pop_awaiter : public detail::delay_wait {
public:
    pop_awaiter(detail::promise_base& p, delay_queue& of) noexcept : delay_wait(p, of) {}
    [[nodiscard("the value that has come is lost: use the result")]] std::optional<T> await_resume() noexcept {
        return taken(static_cast<delay_queue&>(queue()), received()).value();
    }
    using has_two_steps = pop_awaiter;
    static request<claim_awaiter> claim(delay_queue& of) noexcept { return {of}; }
    static std::optional<T> finish(taken of, delay_queue&) noexcept { return std::move(of).value(); }
};

}  // namespace coflux
