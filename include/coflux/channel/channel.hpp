// channel: values from any number of senders to any number of receivers, in the order in which they were sent.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/channel_ends.hpp>
#include <coflux/channel/detail/channel_base.hpp>
#include <coflux/channel/detail/channel_operations.hpp>
#include <coflux/channel/permit.hpp>
#include <coflux/fwd.hpp>

namespace coflux {

/// The operations of all channels of T, whatever their capacity: functions that take any channel take a
/// `basic_channel<T>&`.
///
/// Shapes: T is an object that moves and dies without throwing; another does not compile (send a std::unique_ptr of
/// it). It is moved under the channel's lock: its move does not use the channel.
/// Resumes: the waiter, on its own executor; no coroutine is run inside send(), receive() or close(). Senders and
/// receivers are served first come, first served; the values of one sender arrive in its order.
/// Stops: a send or receive that waits is a stop point. Stopped, it has had no effect: nothing was sent, nothing taken.
/// It is done, requested stop or not, where it need not wait.
/// Threads: any; try_send(), try_receive() and close() also from outside coroutines.
/// Costs: nothing is allocated. Uncontended, without a wait: one locked instruction.
/// Lifetime: the channel outlives all that wait at it, which its destructor checks; values that were not received die
/// with it.
/// Example: examples/12_channel.cpp
template <typename T>
class basic_channel : protected detail::channel_base<T> {
public:
    using value_type = T;

    /// `co_await ch.send(std::move(v))`: true once the value is in the channel or with a receiver; false if the channel
    /// is closed, and then `v` has not been moved from. Waits while no slot is free.
    /// Stops: has not sent; `v` has not been moved from. A temporary dies with the coroutine, an object that outlives
    /// the coroutine is whole.
    /// Lifetime: `v` is moved from only once it has a slot: it lives until the await ends, so await it where it is
    /// made.
    detail::channel_request<detail::send_operation, T> send(T&& v COFLUX_LIFETIMEBOUND) noexcept {
        return detail::channel_request<detail::send_operation, T>(*this, &v);
    }
    /// Sends a copy of `v`, made in the call.
    /// Errors: what the copy throws; then nothing has happened.
    detail::send_copy_request<T> send(const T& v) noexcept(std::is_nothrow_copy_constructible_v<T>)
        requires std::is_copy_constructible_v<T>
    {
        return detail::send_copy_request<T>(*this, v);
    }
    /// `co_await ch.receive()`: the oldest value, or nothing once the channel is closed and all that was sent has been
    /// received. Waits while there is no value. So a loop over all that comes is `while (auto v = co_await
    /// ch.receive())`.
    /// Stops: has taken nothing.
    detail::channel_request<detail::receive_operation, T> receive() noexcept {
        return detail::channel_request<detail::receive_operation, T>(*this);
    }

    /// `co_await (ch << v)` is send(v).
    auto operator<<(T&& v) noexcept { return send(std::move(v)); }
    auto operator<<(const T& v) noexcept(std::is_nothrow_copy_constructible_v<T>)
        requires std::is_copy_constructible_v<T>
    {
        return send(v);
    }
    /// `co_await (ch >> v)`: receives into `v`; false, and `v` as it was, once the channel is closed and drained.
    /// Errors: what the move assignment throws; the value is then lost.
    detail::channel_request<detail::receive_into_operation, T> operator>>(T& v) noexcept
        requires std::is_move_assignable_v<T>
    {
        return detail::channel_request<detail::receive_into_operation, T>(*this, &v);
    }

    /// Sends if that needs no wait; false if it would, or if the channel is closed; then `v` has not been moved from.
    [[nodiscard]] bool try_send(T&& v) noexcept {
        detail::channel_wakes wakes;
        this->lock();
        const bool sent = this->send_locked(v, wakes) == detail::channel_outcome::done;
        this->unlock();
        wakes.wake();
        return sent;
    }
    [[nodiscard]] bool try_send(const T& v)
        requires std::is_copy_constructible_v<T>
    {
        T copy(v);
        return try_send(std::move(copy));
    }
    /// Receives if that needs no wait; nothing if it would, or if nothing can come any more: drained() tells.
    [[nodiscard]] std::optional<T> try_receive() noexcept {
        detail::channel_wakes wakes;
        std::optional<T> room;
        this->lock();
        (void)this->receive_locked(room, wakes);
        this->unlock();
        wakes.wake();
        return room;
    }

    /// No more sends: wakes the waiting senders and reservers, with false or nothing, and once nothing is left to
    /// receive the waiting receivers. Values that were sent, and those of permits, are still received. A second close()
    /// does nothing.
    void close() noexcept { detail::channel_base<T>::close(); }
    /// True if nothing can be sent any more, but by permits that are out: close() was called. There may be values left.
    [[nodiscard]] bool closed() const noexcept { return this->is_closed(); }
    /// True once the channel is closed and nothing can be received any more.
    [[nodiscard]] bool drained() noexcept { return this->is_drained(); }

protected:
    using detail::channel_base<T>::channel_base;
    ~basic_channel() = default;

private:
    friend struct detail::channel_end_access;
    detail::channel_core& core() noexcept { return *this; }
};

namespace detail {

/// The operations that channels with slots add.
template <typename T>
class slotted_channel : public basic_channel<T> {
public:
    /// `co_await ch.reserve()`: a permit for one slot, or nothing if the channel is closed. Waits while no
    /// slot is free, in one queue with the senders.
    /// Stops: holds no slot.
    channel_request<reserve_operation, T> reserve() noexcept { return channel_request<reserve_operation, T>(*this); }
    /// A permit for one slot if that needs no wait; else nothing.
    [[nodiscard]] std::optional<permit<T>> try_reserve() noexcept {
        this->lock();
        const channel_outcome outcome = this->reserve_locked();
        this->unlock();
        if (outcome != channel_outcome::done) return std::nullopt;
        return std::optional<permit<T>>(permit<T>(*this));
    }
    /// How many values it holds at most.
    [[nodiscard]] std::size_t capacity() const noexcept { return channel_core::capacity(); }
    /// How many values it held a moment ago.
    [[nodiscard]] std::size_t size() const noexcept { return channel_core::size(); }

protected:
    using basic_channel<T>::basic_channel;
    ~slotted_channel() = default;
};

/// Slots inside the channel. A base, so that they are there before and after the rest of it.
template <typename T, std::size_t N>
struct channel_slots {
    channel_slot<T> slots[N];
};

/// Slots from a memory resource.
template <typename T>
class channel_memory {
public:
    channel_memory(std::size_t capacity, std::pmr::memory_resource& memory) : memory_(memory), capacity_(capacity) {
        COFLUX_VERIFY(capacity != 0,
                      "a dynamic_channel needs a capacity of at least 1: channel<T[]> is the rendezvous");
        if (capacity > static_cast<std::size_t>(-1) / sizeof(channel_slot<T>)) throw std::bad_array_new_length();
        slots = static_cast<channel_slot<T>*>(memory.allocate(bytes(), alignof(channel_slot<T>)));
    }
    channel_memory(const channel_memory&) = delete;
    channel_memory& operator=(const channel_memory&) = delete;
    ~channel_memory() { memory_.deallocate(slots, bytes(), alignof(channel_slot<T>)); }

    channel_slot<T>* slots;

private:
    [[nodiscard]] std::size_t bytes() const noexcept { return capacity_ * sizeof(channel_slot<T>); }

    std::pmr::memory_resource& memory_;
    std::size_t capacity_;
};

}  // namespace detail

template <typename T>
class channel {
    static_assert(detail::never<T>,
                  "coflux: a channel says how many values it holds: bounded_channel<T, 64> or channel<T[64]>, "
                  "rendezvous_channel<T> or channel<T[]>, dynamic_channel<T>");
};

/// A channel that holds up to N values, inside itself: `coflux::channel<int[64]> ch;`
///
/// Shapes: any N from 1 on. The rest: basic_channel. Adds reserve(), try_reserve(), capacity() and size().
template <typename T, std::size_t N>
class channel<T[N]> final : private detail::channel_slots<T, N>, public detail::slotted_channel<T> {
public:
    channel() noexcept : detail::slotted_channel<T>(this->slots, N) {}

    /// Counted ends: the death of the last one of a side closes the channel. Where they are made and die, close() need
    /// not be called.
    channel_sender<channel> sender() noexcept { return channel_sender<channel>(*this); }
    channel_receiver<channel> receiver() noexcept { return channel_receiver<channel>(*this); }
};

/// A channel that holds nothing: a send lasts until a receiver takes the value from it. `coflux::channel<int[]> ch;`
///
/// true from a send says that a receiver has the value. There is no reserve(): a permit would have to hold a receiver,
/// and keep it from stopping. The rest: basic_channel.
template <typename T>
class channel<T[]> final : public basic_channel<T> {
public:
    channel() noexcept : basic_channel<T>(nullptr, 0) {}

    /// Counted ends: the death of the last one of a side closes the channel. Where they are made and die, close() need
    /// not be called.
    channel_sender<channel> sender() noexcept { return channel_sender<channel>(*this); }
    channel_receiver<channel> receiver() noexcept { return channel_receiver<channel>(*this); }
};

/// `coflux::bounded_channel<int, 64> ch;` is channel<int[64]>: it holds up to N values.
/// Example: examples/12_channel.cpp
template <typename T, std::size_t N>
    requires(N != 0)
using bounded_channel = channel<T[N]>;

/// `coflux::rendezvous_channel<int> ch;` is channel<int[]>: it holds nothing, and a send lasts until a receiver takes
/// the value.
/// Example: examples/12_channel.cpp
template <typename T>
using rendezvous_channel = channel<T[]>;

/// A channel whose capacity is chosen when it is made: `coflux::dynamic_channel<int> ch(n, &memory);`
///
/// Errors: what the resource throws; a capacity of 0 is a checked error.
/// Costs: one allocation in the constructor, then none.
/// Lifetime: the resource outlives the channel. The rest: channel<T[N]>.
template <typename T>
class dynamic_channel final : private detail::channel_memory<T>, public detail::slotted_channel<T> {
public:
    explicit dynamic_channel(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : detail::channel_memory<T>(capacity, *memory),
          detail::slotted_channel<T>(this->slots, capacity) {}

    /// Counted ends: the death of the last one of a side closes the channel. Where they are made and die, close() need
    /// not be called.
    channel_sender<dynamic_channel> sender() noexcept { return channel_sender<dynamic_channel>(*this); }
    channel_receiver<dynamic_channel> receiver() noexcept { return channel_receiver<dynamic_channel>(*this); }
};

}  // namespace coflux
