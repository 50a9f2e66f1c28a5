// The FIFO below the mpsc channels, with values in its slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/channel/detail/slot_list.hpp>

namespace coflux::detail {

template <typename T>
class slot_queue : public slot_list {
    struct slot {
        atomic<std::uintptr_t> state;
        alignas(T) std::byte value[sizeof(T)];
    };
    static constexpr std::size_t first_offset = sizeof(slot_block) > alignof(slot) ? sizeof(slot_block) : alignof(slot);

public:
    explicit slot_queue(std::pmr::memory_resource* resource) : slot_list(resource, first_offset, sizeof(slot)) {}
    ~slot_queue() {
        while (drop()) {}
    }

    /// Sender: adds `value`. False, and `value` is as it was, if the list is closed. Throws std::bad_alloc, and then
    /// nothing has happened.
    COFLUX_INLINE bool push(T&& value) {
        const slot_claim c = claim();
        if (c.block == nullptr) [[unlikely]]
            return false;
        slot& s = slot_at(c.block, c.index);
        ::new (static_cast<void*>(s.value)) T(std::move(value));
        if (c.after != nullptr) [[unlikely]] {
            // relaxed: the receiver comes here through the end of the block before.
            s.state.store(ready, memory_order_relaxed);
            left(c.after->end.exchange(ready, memory_order_acq_rel));  // for the reasons below
        } else {
            // release pairs with the receiver's acquire: the value is there. acquire with the release of its CAS in
            // atomic_waiter: the operation is complete.
            // [mpsc.push]
            left(s.state.exchange(ready, memory_order_acq_rel));
        }
        return true;
    }

    /// Receiver: ready, closed, or neither: then next() is the word to wait in.
    [[nodiscard]] COFLUX_INLINE std::uintptr_t look() noexcept {
        for (;;) {
            // acquire pairs with the exchange in push() and in seal().
            // [mpsc.look]
            const std::uintptr_t s = next().load(memory_order_acquire);
            if (index_ != slots_in_block || s != ready) [[likely]]
                return s;
            (void)enter_next_block();
        }
    }
    [[nodiscard]] COFLUX_INLINE atomic<std::uintptr_t>& next() noexcept {
        return next_word(first_offset, sizeof(slot));
    }

    /// Receiver: 0 if it has to wait, else about how many values there are.
    [[nodiscard]] std::size_t available() noexcept {
        if (look() < ready) return 0;
        const std::size_t n = claimed();
        return n != 0 ? n : 1;
    }
    /// Receiver, after look() said ready: hands the value to `use`, then it is gone, even if `use` throws.
    template <typename Use>
    COFLUX_INLINE void take(Use&& use) {
        struct emptied {
            slot& s;
            T& value;
            ~emptied() {
                value.~T();
                // relaxed: the slot's next sender gets it through the lock of enter_next_block().
                s.state.store(0, memory_order_relaxed);
            }
        };
        slot& s = slot_at(block_, index_++);
        const emptied guard{s, *std::launder(reinterpret_cast<T*>(s.value))};
        std::forward<Use>(use)(std::move(guard.value));
    }
    /// Receiver: drops the next value, if there is one.
    bool drop() noexcept {
        if (look() != ready) return false;
        take([](T&&) noexcept {});
        return true;
    }

    /// The receiver dies: ends the list, and drops what was sent, also what senders have a slot for and are filling in.
    /// They need a few instructions for that, unless the system has put one behind others.
    void end() noexcept {
        (void)seal();
        // [mpsc.end.waits]
        while (look() != closed) {
            if (drop()) continue;
            cpu_pause();
            yield_processor();
        }
    }

private:
    [[nodiscard]] static COFLUX_INLINE slot& slot_at(slot_block* b, std::size_t i) noexcept {
        return *reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(b) + first_offset + i * sizeof(slot));
    }
};

}  // namespace coflux::detail
