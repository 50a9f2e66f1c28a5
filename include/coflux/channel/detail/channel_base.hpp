// A channel's values: how they move between senders, slots and receivers. Every function but the public ones of
// channel.hpp is called with the lock held.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/channel/detail/channel_core.hpp>

namespace coflux::detail {

/// A type that a channel can carry. A value is moved under the channel's lock, by the thread of either side: there no
/// coroutine could learn of an exception.
template <typename T>
inline constexpr bool is_channel_value =
    std::is_object_v<T> && !std::is_array_v<T> && std::is_same_v<T, std::remove_cv_t<T>> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

/// Room for one value, without a value.
template <typename T>
union channel_slot {
    channel_slot() noexcept {}
    ~channel_slot() {}
    T value;
};

template <typename T>
class channel_base : public channel_core {
    static_assert(
        is_channel_value<T>,
        "coflux: a channel's values must be objects that move and die without throwing: send a std::unique_ptr of it");

public:
    /// `slots` are `capacity`, and live longer than this object.
    channel_base(channel_slot<T>* slots, std::size_t capacity) noexcept : channel_core(capacity), slots_(slots) {}
    ~channel_base() {
        while (count() != 0) slots_[empty_slot()].value.~T();
    }

    COFLUX_INLINE channel_outcome send_locked(T& value, channel_wakes& wakes) noexcept {
        if (closed_locked()) [[unlikely]]
            return channel_outcome::closed;
        if (channel_node* const r = receivers().take()) {
            deliver(*r, value, wakes);
            return channel_outcome::done;
        }
        if (!has_free_slot()) return channel_outcome::pending;
        put(value);
        return channel_outcome::done;
    }

    COFLUX_INLINE channel_outcome receive_locked(std::optional<T>& room, channel_wakes& wakes) noexcept {
        if (count() != 0) {
            T& oldest = slots_[empty_slot()].value;
            room.emplace(std::move(oldest));
            oldest.~T();
            if (!senders().empty()) fill_from_senders(wakes);
            return channel_outcome::done;
        }
        // A rendezvous, or permits hold all slots.
        if (channel_node* const s = senders().take_with_value()) {
            room.emplace(std::move(*static_cast<T*>(s->value)));
            wakes.add(*s, channel_outcome::done);
            return channel_outcome::done;
        }
        return drained_locked() ? channel_outcome::closed : channel_outcome::pending;
    }

    /// Sends by a permit: cannot fail, closed or not. The caller drops the value where nobody will receive it.
    void send_reserved(T& value) noexcept {
        channel_wakes wakes;
        lock();
        give_up_reserved();
        if (channel_node* const r = receivers().take()) {
            deliver(*r, value, wakes);
            fill_from_senders(wakes);
        } else if (!abandoned_locked()) {
            put(value);
        }
        finish_if_drained(wakes);
        unlock();
        wakes.wake();
    }
    void give_back_reserved() noexcept {
        channel_wakes wakes;
        lock();
        give_up_reserved();
        fill_from_senders(wakes);
        finish_if_drained(wakes);
        unlock();
        wakes.wake();
    }

private:
    void put(T& value) noexcept {
        ::new (static_cast<void*>(detail::address_of(slots_[fill_slot()].value))) T(std::move(value));
    }

    static void deliver(channel_node& receiver, T& value, channel_wakes& wakes) noexcept {
        static_cast<std::optional<T>*>(receiver.value)->emplace(std::move(value));
        wakes.add(receiver, channel_outcome::done);
    }

    /// There may be a free slot: the first waiters for one get it.
    COFLUX_NOINLINE void fill_from_senders(channel_wakes& wakes) noexcept {
        while (!senders().empty() && has_free_slot()) {
            channel_node* const s = senders().take();
            if (s == nullptr) return;
            wakes.add(*s, channel_outcome::done);
            if (s->value == nullptr) {
                reserve_slot();
                continue;
            }
            // A receiver that waits beside a send is of the same select, which the send has just decided: it is
            // dropped.
            T& value = *static_cast<T*>(s->value);
            if (channel_node* const r = receivers().take()) {
                deliver(*r, value, wakes);
            } else {
                put(value);
            }
        }
    }

    channel_slot<T>* const slots_;
};

}  // namespace coflux::detail
