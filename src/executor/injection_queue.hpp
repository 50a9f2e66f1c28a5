// The pool's queue for coroutines that come from outside its threads: many producers, many consumers, first in,
// first out.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>

namespace coflux::detail {

/// A ring under a lock: a push from outside pays for a wake-up anyway, which costs a hundred times as much.
class injection_queue {
public:
    /// With room for `capacity`, a power of two, before it first grows.
    explicit injection_queue(std::size_t capacity = 256) : ring_(capacity) {}

    void push(std::coroutine_handle<> h) noexcept {
        const lock_guard<mutex> guard(lock_);
        if (count_ == ring_.size()) grow();
        ring_[(head_ + count_) & (ring_.size() - 1)] = h;
        ++count_;
        size_.store(count_, memory_order_release);  // pairs with empty(): a hint
    }

    std::coroutine_handle<> take() noexcept {
        if (empty()) return nullptr;
        const lock_guard<mutex> guard(lock_);
        if (count_ == 0) return nullptr;
        const std::coroutine_handle<> h = ring_[head_];
        head_ = (head_ + 1) & (ring_.size() - 1);
        --count_;
        size_.store(count_, memory_order_release);  // pairs with empty()
        return h;
    }

    /// A hint, exact once no thread pushes.
    [[nodiscard]] bool empty() const noexcept {
        return size_.load(memory_order_acquire) == 0;
    }  // pairs with the stores of size_

private:
    void grow() noexcept {
        try {
            std::vector<std::coroutine_handle<>> bigger(ring_.size() * 2);
            for (std::size_t i = 0; i < count_; ++i) bigger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
            ring_.swap(bigger);
            head_ = 0;
        } catch (const std::bad_alloc&) {
            COFLUX_VERIFY(false, "out of memory for %zu queued coroutines", count_);
        }
    }

    mutex lock_;
    std::vector<std::coroutine_handle<>> ring_;  // its size is a power of two
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    atomic<std::size_t> size_{0};  // copy of count_ for empty()
};

}  // namespace coflux::detail
