// Pointers from one thread to another one, first in, first out. The page docs/design/shards.md has the protocol.
//
// Source: L. Lamport, "Specifying Concurrent Program Modules" (1983), the bounded queue. Deviations: each side keeps a
// copy of the other's index, the receiver takes many at once, and a sender may sleep until there is room.
#pragma once

#include <cstddef>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

#include "sleep_word.hpp"

namespace coflux::detail {

/// `Cell` is a pointer, or in a model what takes its place.
template <typename Message, std::size_t Capacity = 256, typename Cell = Message*>
class message_ring {
public:
    static constexpr std::size_t capacity = Capacity;

    /// The sender: false when it is full.
    [[nodiscard]] COFLUX_INLINE bool push(Message* m) noexcept {
        const std::size_t t = tail_.load(memory_order_relaxed);  // written by this thread
        if (t - head_seen_ == capacity) [[unlikely]] {
            // [message_ring.push.head]
            head_seen_ = head_.load(memory_order_acquire);  // pairs with take(): the cells have been read
            // [message_ring.push.full]
            if (t - head_seen_ == capacity) return false;
        }
        cells_[t % capacity] = m;
        // [message_ring.push.tail]
        tail_.store(t + 1, memory_order_release);  // pairs with take(): the cell, and the message
        return true;
    }

    /// The receiver: `f(message)` for all that are there, `most` at most. Returns how many those were.
    template <typename F>
    COFLUX_INLINE std::size_t take(std::size_t most, F f) noexcept {
        const std::size_t first = head_.load(memory_order_relaxed);  // written by this thread
        // [message_ring.take.tail]
        const std::size_t there = tail_.load(memory_order_acquire) - first;  // pairs with push()
        if (there == 0) return 0;
        const std::size_t end = first + (there < most ? there : most);
        for (std::size_t i = first; i != end; ++i) f(*cells_[i % capacity]);
        // [message_ring.take.head]
        head_.store(end, memory_order_release);  // pairs with push() and has_room()
        return end - first;
    }
    /// The receiver, after take(): true, once, if the sender may sleep because there was no room.
    // [message_ring.room_is_awaited]
    [[nodiscard]] COFLUX_INLINE bool room_is_awaited(bool fenced) noexcept { return waits_.take(fenced); }

    /// The receiver: nothing is there.
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept {
        return head_.load(memory_order_relaxed) == tail_.load(memory_order_relaxed);  // take() has the order
    }
    /// The sender, whose push() has failed, and which is about to sleep, as by its own word: from now on
    /// room_is_awaited(). Then it passes its side of the fence, and looks by has_room().
    // [message_ring.await_room]
    void await_room() noexcept { waits_.set(); }
    [[nodiscard]] bool has_room() noexcept {
        // [message_ring.has_room.head]
        head_seen_ = head_.load(memory_order_acquire);  // pairs with take()
        return tail_.load(memory_order_relaxed) - head_seen_ != capacity;
    }

private:
    // Messages are [head_, tail_); both only grow. tail_: written by the sender. head_: by the receiver.
    alignas(cache_line) atomic<std::size_t> tail_{0};
    std::size_t head_seen_ = 0;  // the sender's: head_ was there
    alignas(cache_line) atomic<std::size_t> head_{0};
    sleep_word waits_;  // of the sender, for room; beside head_, because the receiver looks at it after it wrote that
    alignas(cache_line) Cell cells_[capacity]{};
};

}  // namespace coflux::detail
