// The ring below make_spsc.
//
// Source: the single-producer ring with cached indices of folly and rigtorp. Deviations: the indices share their words
// with the flags of the waiting and the closing end, so that publishing a value and finding the waiter is one
// operation. docs/design/channel_queues.md.
#pragma once

#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/channel/detail/atomic_waiter.hpp>
#include <coflux/channel/detail/peer.hpp>
#include <coflux/channel/detail/shared_state.hpp>

namespace coflux::detail {

/// The words of a ring and their protocol, without the values.
class spsc_words {
public:
    // A word holds a position and flags. A position is an index times 32: the flags are 0, and it wraps around as the
    // word does.
    static constexpr std::uintptr_t waits = 1;  ///< the peer's coroutine waits for a change of this word
    static constexpr std::uintptr_t marked = atomic_waiter::marked;
    static constexpr std::uintptr_t ended = 4;   ///< tail: nothing more will be sent
    static constexpr std::uintptr_t sealed = 8;  ///< tail: only permits may still send. head: the receiver has closed
    static constexpr std::uintptr_t gone = 16;   ///< tail: the receiver has died: nothing may be sent
    static constexpr std::uintptr_t step = 32;
    [[nodiscard]] static constexpr std::uintptr_t position(std::uintptr_t word) noexcept { return word & ~(step - 1); }

    explicit spsc_words(std::size_t capacity) noexcept : capacity_(capacity) {}
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    // --- sender

    /// True if a slot is free for a value without a permit.
    [[nodiscard]] COFLUX_INLINE bool has_room() noexcept {
        if (used() < capacity_) [[likely]]
            return true;
        // acquire pairs with the exchange in released(): the slot's last value is gone.
        // [spsc.has_room]
        head_seen_ = position(head_.load(memory_order_acquire));
        return used() < capacity_;
    }
    [[nodiscard]] bool is_sealed() const noexcept {
        return (tail_.load(memory_order_relaxed) & sealed) != 0;  // relaxed: decided by the CAS in publish()
    }
    [[nodiscard]] COFLUX_INLINE std::uintptr_t next_slot() const noexcept { return next_ / step; }
    /// The value at next_slot() is there. False if the receiver has died; or has closed, unless `with_permit`.
    [[nodiscard]] COFLUX_INLINE bool publish(bool with_permit) noexcept {
        std::uintptr_t seen = next_;
        std::uintptr_t flags = 0;
        // release pairs with the receiver's acquire of the tail; acquire, with the release of its CAS in atomic_waiter.
        // [spsc.publish]
        while (!tail_.compare_exchange_weak(seen, (next_ + step) | flags, memory_order_acq_rel, memory_order_acquire))
            [[unlikely]] {
            if ((seen & gone) != 0 || ((seen & sealed) != 0 && !with_permit)) return false;
            flags = seen & sealed;
        }
        next_ += step;
        if ((seen & waits) != 0) [[unlikely]]
            wake_receiver();
        return true;
    }
    /// Reserves a slot. False if the receiver has closed.
    [[nodiscard]] bool reserve() noexcept;
    /// A permit is used or given up.
    void unreserve() noexcept;
    /// Nothing more will be sent, but by the permits that are out.
    void end() noexcept {
        sender_ended_ = true;
        if (reserved_here_ == 0) end_now();
    }

    // --- receiver

    [[nodiscard]] COFLUX_INLINE bool has_value() noexcept {
        if (first_ != tail_seen_) [[likely]]
            return true;
        look_at_tail();
        return first_ != tail_seen_;
    }
    COFLUX_INLINE void look_at_tail() noexcept {
        // [spsc.look_at_tail]
        tail_seen_ = position(tail_.load(memory_order_acquire));  // pairs with the CAS in publish()
    }
    /// After has_value() said no: nothing will ever come.
    [[nodiscard]] bool finished() const noexcept;
    [[nodiscard]] COFLUX_INLINE std::uintptr_t first() const noexcept { return first_ / step; }
    /// How many values there were when the tail was read last.
    [[nodiscard]] COFLUX_INLINE std::uintptr_t available() const noexcept { return (tail_seen_ - first_) / step; }
    /// `n` values more are taken.
    COFLUX_INLINE void released(std::uintptr_t n) noexcept {
        first_ += n * step;
        // release pairs with the acquire in has_room(); acquire with the release of the sender's CAS in atomic_waiter.
        // [spsc.released]
        const std::uintptr_t left = head_.exchange(first_ | closed_, memory_order_acq_rel);
        if ((left & waits) != 0) [[unlikely]]
            wake_sender();
    }
    void close() noexcept;
    /// The receiver dies. The sender has published what is in the tail now, and publishes no more.
    void leave() noexcept {
        close();
        // acquire pairs with the release in publish(): the last values are there.
        // [spsc.leave]
        tail_.fetch_or(gone, memory_order_acquire);
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return (tail_.load(memory_order_relaxed) & (sealed | ended)) !=
               0;  // relaxed: an answer that may be old at once
    }

private:
    friend class spsc_room_wait;
    friend class spsc_value_wait;

    [[nodiscard]] COFLUX_INLINE std::size_t used() const noexcept {
        return (next_ - head_seen_) / step + reserved_here_;
    }
    COFLUX_NOINLINE void wake_receiver() noexcept;
    COFLUX_NOINLINE void wake_sender() noexcept;
    void end_now() noexcept;

    const std::size_t capacity_;

    // Written by the sender: the position behind the last value. The receiver adds `waits`, by CAS, and `sealed`.
    //
    // | flags  | meaning                                                | leaves it                      |
    // | ------ | ------------------------------------------------------ | ------------------------------ |
    // | none   | open                                                   | either side                    |
    // | marked | as none: a trace of a stop request (atomic_waiter)     | sender, by publish()           |
    // | waits  | the receiver waits in receiver_                        | sender, which wakes it; a stop |
    // | sealed | the receiver has closed; combines with the other flags | nothing                        |
    // | gone   | the receiver has died; combines with sealed            | nothing                        |
    // | ended  | no value will follow; combines with sealed             | nothing                        |
    alignas(cache_line) atomic<std::uintptr_t> tail_{0};
    wait_operation* receiver_ = nullptr;  ///< written before the CAS to waits, read by the taker of that flag
    std::uintptr_t next_ = 0;             ///< sender: position of the next value
    std::uintptr_t head_seen_ = 0;        ///< sender: position in head_ when it looked last
    std::size_t reserved_here_ = 0;       ///< sender: permits that are out
    bool sender_ended_ = false;           ///< sender: only permits may still send
    // Permits that are out, for the receiver's question whether it is finished. seq_cst, as the sealing of the tail:
    // either reserve() sees the seal, or finished() sees the permit.
    atomic<std::size_t> reserved_{0};

    // Written by the receiver: the position of the first value. The sender adds `waits`, by CAS. Its flags are those of
    // tail_, with the sides exchanged.
    alignas(cache_line) atomic<std::uintptr_t> head_{0};
    wait_operation* sender_ = nullptr;
    std::uintptr_t first_ = 0;      ///< receiver: position of the next value
    std::uintptr_t tail_seen_ = 0;  ///< receiver: position in tail_ when it looked last
    std::uintptr_t closed_ = 0;     ///< receiver: sealed once it has closed

    alignas(cache_line) peer sending_;
    peer receiving_;
};

/// Base of awaiters that wait for room.
class spsc_room_wait : protected atomic_waiter {
protected:
    spsc_room_wait(promise_base& p, spsc_words& w) noexcept : atomic_waiter(p), words_(w) {}
    [[nodiscard]] COFLUX_INLINE bool is_there() noexcept { return words_.has_room() || words_.is_sealed() || spin(); }
    std::coroutine_handle<> wait();

    spsc_words& words_;

private:
    COFLUX_NOINLINE bool spin() noexcept;
};

/// Base of awaiters that wait for a value.
class spsc_value_wait : protected atomic_waiter {
protected:
    spsc_value_wait(promise_base& p, spsc_words& w) noexcept : atomic_waiter(p), words_(w) {}
    [[nodiscard]] COFLUX_INLINE bool is_there() noexcept { return words_.has_value() || words_.finished() || spin(); }
    std::coroutine_handle<> wait();

    spsc_words& words_;

private:
    COFLUX_NOINLINE bool spin() noexcept;
};

template <typename T>
class spsc_send_wait;
template <typename T>
class spsc_receive_wait;

template <typename T>
class spsc_state : public shared_state, public spsc_words {
public:
    using send_wait = spsc_send_wait<T>;
    using receive_wait = spsc_receive_wait<T>;

    spsc_state(std::pmr::memory_resource* resource, std::size_t capacity)
        : shared_state(resource),
          spsc_words(capacity),
          mask_(std::bit_ceil(capacity) - 1),
          ring_(static_cast<cell*>(resource->allocate(sizeof(cell) * (mask_ + 1), alignof(cell)))) {}
    ~spsc_state() {
        (void)receive(capacity(), [](T&&) noexcept {});
        resource()->deallocate(ring_, sizeof(cell) * (mask_ + 1), alignof(cell));
    }

    /// Pre: there is room. False, and `v` is as it was, if the receiver has closed.
    [[nodiscard]] COFLUX_INLINE bool send(T& v) noexcept { return !is_sealed() && put(v, false); }
    [[nodiscard]] COFLUX_INLINE bool try_send(T& v) noexcept { return has_room() && send(v); }
    /// Uses a permit.
    void send_reserved(T& v) noexcept {
        (void)put(v, true);
        unreserve();
    }
    /// Hands up to `max` values to `use`; how many.
    template <typename Use>
    COFLUX_INLINE std::size_t receive(std::size_t max, Use&& use) {
        struct counted {
            spsc_state& of;
            std::size_t taken = 0;
            ~counted() {
                if (taken != 0) of.released(taken);
            }
        };
        struct ended_value {
            T& value;
            ~ended_value() { value.~T(); }
        };
        if (!has_value()) return 0;
        if (available() < max) look_at_tail();
        const std::size_t there = available();
        const std::size_t n = there < max ? there : max;
        counted c{*this};
        while (c.taken != n) {
            const ended_value v{*std::launder(reinterpret_cast<T*>(ring_[(first() + c.taken) & mask_].bytes))};
            ++c.taken;  // first: the value is gone even if `use` throws
            use(std::move(v.value));
        }
        return n;
    }
    COFLUX_INLINE std::optional<T> receive_one() noexcept {
        std::optional<T> value;
        (void)receive(1, [&](T&& v) noexcept { value.emplace(std::move(v)); });
        return value;
    }

private:
    struct cell {
        alignas(T) std::byte bytes[sizeof(T)];
    };

    COFLUX_INLINE bool put(T& v, bool with_permit) noexcept {
        T* const placed = ::new (static_cast<void*>(ring_[next_slot() & mask_].bytes)) T(std::move(v));
        if (publish(with_permit)) [[likely]]
            return true;
        give_back(v, *placed);
        return false;  // sealed in this very moment
    }

    const std::size_t mask_;
    cell* const ring_;
};

/// Waits for a slot.
template <typename T>
class spsc_send_wait : protected spsc_room_wait {
public:
    spsc_send_wait(promise_base& p, spsc_state<T>& s) noexcept : spsc_room_wait(p, s) {}

protected:
    /// False if the channel is closed and full.
    [[nodiscard]] COFLUX_INLINE bool resumed() noexcept {
        spsc_room_wait::resumed();
        return words_.has_room();
    }
    [[nodiscard]] COFLUX_INLINE spsc_state<T>& state() const noexcept { return static_cast<spsc_state<T>&>(words_); }
};

/// Waits until there is a value, or none will come.
template <typename T>
class spsc_receive_wait : protected spsc_value_wait {
public:
    spsc_receive_wait(promise_base& p, spsc_state<T>& s) noexcept : spsc_value_wait(p, s) {}

protected:
    [[nodiscard]] COFLUX_INLINE std::optional<T> take() noexcept { return state().receive_one(); }
    [[nodiscard]] COFLUX_INLINE spsc_state<T>& state() const noexcept { return static_cast<spsc_state<T>&>(words_); }
};

// The parts that the ends hold.

struct spsc_sending {
    static constexpr const char* empty = "an spsc sender that was closed or moved from";
    static void release(spsc_words& state) noexcept { state.end(); }
    [[nodiscard]] static bool is_closed(const spsc_words& state) noexcept { return state.is_sealed(); }
};
struct spsc_receiving {
    static constexpr const char* empty = "an spsc receiver that was moved from";
    static void release(auto& state) noexcept {
        state.leave();
        (void)state.receive(state.capacity(), [](auto&&) noexcept {});
    }
    [[nodiscard]] static bool is_closed(const spsc_words& state) noexcept { return state.is_closed(); }
};
struct spsc_reserving {
    static constexpr const char* empty = "a permit that was used or moved from";
    static void release(spsc_words& state) noexcept { state.unreserve(); }
};

}  // namespace coflux::detail
