// Pointers from one thread to another one, first in, first out. The page docs/design/shards.md has the protocol.
//
// Source: L. Lamport, "Specifying Concurrent Program Modules" (1983), the bounded queue. Deviations: each side keeps a
// copy of the other's index, and the receiver takes many at once.
#pragma once

#include <cstddef>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

template <typename Message>
class message_ring {
public:
    static constexpr std::size_t capacity = 256;

    /// The sender: false when it is full.
    [[nodiscard]] COFLUX_INLINE bool push(Message* m) noexcept {
        const std::size_t t = tail_.load(memory_order_relaxed);  // written by this thread
        if (t - head_seen_ == capacity) [[unlikely]] {
            head_seen_ = head_.load(memory_order_acquire);  // pairs with take(): the cells have been read
            if (t - head_seen_ == capacity) return false;
        }
        cells_[t % capacity] = m;
        tail_.store(t + 1, memory_order_release);  // pairs with take(): the cell, and the message
        return true;
    }

    /// The receiver: `f(message)` for all that are there, `most` at most. Returns whether there were some.
    template <typename F>
    COFLUX_INLINE bool take(std::size_t most, F f) noexcept {
        const std::size_t first = head_.load(memory_order_relaxed);          // written by this thread
        const std::size_t there = tail_.load(memory_order_acquire) - first;  // pairs with push()
        if (there == 0) return false;
        const std::size_t end = first + (there < most ? there : most);
        for (std::size_t i = first; i != end; ++i) f(*cells_[i % capacity]);
        head_.store(end, memory_order_release);  // pairs with push()
        return true;
    }
    /// The receiver: nothing is there.
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept {
        return head_.load(memory_order_relaxed) == tail_.load(memory_order_acquire);  // pairs with push()
    }

private:
    // Messages are [head_, tail_); both only grow. tail_: written by the sender. head_: by the receiver.
    alignas(cache_line) atomic<std::size_t> tail_{0};
    std::size_t head_seen_ = 0;  // the sender's: head_ was there
    alignas(cache_line) atomic<std::size_t> head_{0};
    alignas(cache_line) Message* cells_[capacity]{};
};

}  // namespace coflux::detail
