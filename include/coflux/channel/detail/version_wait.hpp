// The wait of receivers of the same values: for a count of published values. The part of broadcast and watch that
// does not know the values.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

class slot_version {
public:
    /// How much was published, times two, plus one if nothing will follow.
    using word_type = std::uint64_t;
    static constexpr word_type ended = 1;
    [[nodiscard]] static constexpr word_type after(std::uint64_t published) noexcept { return published * 2; }

    [[nodiscard]] COFLUX_INLINE word_type word() const noexcept {
        return word_.load(memory_order_acquire);  // pairs with the release stores below: what was published is visible
    }
    [[nodiscard]] COFLUX_INLINE std::uint64_t published() const noexcept { return word() / 2; }

    [[nodiscard]] bool has_ended() const noexcept { return (word() & ended) != 0; }

    void lock() noexcept { waiters_.lock.lock(); }
    void unlock() noexcept { waiters_.lock.unlock(); }

    /// Pre: locked. One more was published, or the end; gives the waiters, for wake_all() after the unlock.
    [[nodiscard]] wait_operation* publish() noexcept {
        word_.store(word_.load(memory_order_relaxed) + after(1), memory_order_release);  // pairs with word()
        return waiters_.queue.take_all();
    }
    [[nodiscard]] wait_operation* end() noexcept {
        word_.store(word_.load(memory_order_relaxed) | ended, memory_order_release);  // pairs with word()
        return waiters_.queue.take_all();
    }

private:
    friend class list_wait<slot_version>;
    friend class lazy_wait<slot_version>;
    using want = word_type;  // what the waiter has seen
    static constexpr const char* waits_for = "a new value of a channel";
    [[nodiscard]] bool ready_or_mark(word_type seen) const noexcept { return word() != seen; }
    void unmark() noexcept {}  // the publisher looks into the queue

    // Grows, and is odd from the end on. Written under the lock.
    atomic<word_type> word_{0};
    wait_list waiters_;  ///< the waiters that have seen word_
};

extern template class list_wait<slot_version>;

/// Base of awaiters that wait until the word is not the one that they have seen.
class version_wait : protected lazy_wait<slot_version> {
protected:
    version_wait(promise_base& p, slot_version& of, slot_version::word_type seen) noexcept
        : p_(p),
          of_(of),
          seen_(seen) {}

    [[nodiscard]] COFLUX_INLINE bool is_there() const noexcept { return of_.word() != seen_; }
    /// The result for await_suspend.
    std::coroutine_handle<> wait() { return lazy_wait::wait(p_, of_, seen_); }

private:
    promise_base& p_;
    slot_version& of_;
    slot_version::word_type seen_;
};

}  // namespace coflux::detail
