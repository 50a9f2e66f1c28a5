// The pool's queue for coroutines that come from outside its threads: many producers, many consumers, first in,
// first out.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <vector>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// A ring under a lock.
class injection_queue {
public:
    /// With room for `capacity`, a power of two, before it first grows.
    explicit injection_queue(std::size_t capacity = 256) : ring_(capacity) {}

    void push(std::coroutine_handle<> h) noexcept {
        (void)push(h, []() noexcept { return false; });
    }
    /// Returns `then()`, which is called under the lock: before any thread can take `h`.
    template <typename F>
    bool push(std::coroutine_handle<> h, F then) noexcept {
        // [injection.push.lock]
        const adaptive_guard guard(lock_);
        while (count_ == ring_.size()) [[unlikely]]
            grow();
        ring_[(head_ + count_) & (ring_.size() - 1)] = h;
        ++count_;
        // seq_cst: before a look at the idle word in then(); pairs with empty() after a change of that word
        // [injection.push.size]
        size_.store(count_, memory_order_seq_cst);
        return then();
    }

    /// The oldest; nullptr: none.
    std::coroutine_handle<> take() noexcept {
        if (empty()) return nullptr;
        // [injection.take.lock]
        const adaptive_guard guard(lock_);
        // [injection.take.count]
        if (count_ == 0) return nullptr;
        const std::coroutine_handle<> h = ring_[head_];
        head_ = (head_ + 1) & (ring_.size() - 1);
        --count_;
        // [injection.take.size]
        size_.store(count_, memory_order_release);  // pairs with empty()
        return h;
    }

    /// A hint, exact once no thread pushes.
    [[nodiscard]] bool empty() const noexcept {
        // [injection.empty.size]
        return size_.load(memory_order_seq_cst) == 0;  // pairs with the stores of size_
    }
    /// A hint.
    [[nodiscard]] std::size_t size() const noexcept { return size_.load(memory_order_relaxed); }  // pairs with nothing

private:
    /// Allocates without the lock: others may have pushed, taken and grown it meanwhile.
    COFLUX_COLD void grow() noexcept {
        const std::size_t room = ring_.size() * 2;
        lock_.unlock();
        std::vector<std::coroutine_handle<>> bigger;
        try {
            bigger.resize(room);
        } catch (const std::bad_alloc&) {
            COFLUX_VERIFY(false, "out of memory for %zu queued coroutines", room);
        }
        lock_.lock();
        // [injection.grow.looks_again]
        if (room <= ring_.size()) return;
        for (std::size_t i = 0; i < count_; ++i) bigger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
        ring_.swap(bigger);
        head_ = 0;
    }

    adaptive_lock lock_;
    std::vector<std::coroutine_handle<>> ring_;  // its size is a power of two
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    atomic<std::size_t> size_{0};  // copy of count_ for empty()
};

}  // namespace coflux::detail
