// What receivers that see the same values wait for: a count of what was published. The part of broadcast and watch that does
// not know the values.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/spin_lock.hpp>
#include <coflux/core/wait.hpp>
#include <coflux/core/wait_queue.hpp>

namespace coflux::detail {

class notices {
public:
    /// How much was published, times two, plus one if nothing will follow.
    using word_type = std::uint64_t;
    static constexpr word_type ended = 1;
    [[nodiscard]] static constexpr word_type after(std::uint64_t published) noexcept { return published * 2; }

    [[nodiscard]] COFLUX_INLINE word_type word() const noexcept {
        return word_.load(memory_order_acquire);  // pairs with the release stores below: what was published is visible
    }
    [[nodiscard]] COFLUX_INLINE std::uint64_t published() const noexcept { return word() / 2; }

    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { lock_.unlock(); }

    /// Pre: locked. One more was published, or the end; gives those who wait, for wake_all() after the unlock.
    [[nodiscard]] wait_operation* publish() noexcept {
        word_.store(word_.load(memory_order_relaxed) + after(1), memory_order_release);  // pairs with word()
        return waiters_.take_all();
    }
    [[nodiscard]] wait_operation* end() noexcept {
        word_.store(word_.load(memory_order_relaxed) | ended, memory_order_release);  // pairs with word()
        return waiters_.take_all();
    }

private:
    friend class notice_wait;

    spin_lock lock_;
    // Grows, and is odd from the end on. Written under the lock.
    atomic<word_type> word_{0};
    wait_queue waiters_;  ///< under the lock: those who have seen word_
};

/// Base of awaiters that wait until the word is not the one that they have seen.
class notice_wait : protected wait_operation {
protected:
    notice_wait(promise_base& p, notices& of, notices::word_type seen) noexcept
        : wait_operation(p, kind),
          of_(of),
          seen_(seen) {}

    [[nodiscard]] COFLUX_INLINE bool is_there() const noexcept { return of_.word() != seen_; }
    /// What await_suspend returns.
    std::coroutine_handle<> wait();
    /// First thing in await_resume.
    COFLUX_INLINE void resumed() noexcept {
        if (waited_) end();
    }

private:
    static bool claim(wait_operation& op) noexcept;
    static constexpr wait_kind kind{&claim, &stop_claimed, "a new value of a channel"};

    notices& of_;
    notices::word_type seen_;
    bool waited_ = false;
};

}  // namespace coflux::detail
