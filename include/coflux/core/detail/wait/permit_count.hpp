// A count of permits and the coroutines that wait for some, first come, first served: what semaphore, shared_mutex and
// the slots of a bounded mpsc channel are made of.
//
// The page docs/design/sync.md has the protocol.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux::detail {

/// Base of a primitive that waits by list_wait, which is its friend.
///
/// Threads: all members from any. The last access of release() and close() is the one that lets waiters pass, or comes
/// before they are woken: a served waiter may destroy the count.
class permit_count {
public:
    constexpr explicit permit_count(std::uint64_t free) noexcept : state_(free * one) {}
    permit_count(const permit_count&) = delete;
    permit_count& operator=(const permit_count&) = delete;

    /// Takes `n` if that many are free, there are no waiters and it is not closed.
    [[nodiscard]] COFLUX_INLINE bool try_acquire(std::uint64_t n) noexcept {
        std::uint64_t s = state_.load(memory_order_relaxed);
        while ((s & (has_waiters | closed)) == 0 && s >= n * one) {
            // acquire pairs with the release in try_release() and give().
            // [permits.acquire]
            if (state_.compare_exchange_weak(s, s - n * one, memory_order_acquire, memory_order_relaxed)) [[likely]]
                return true;
        }
        return false;
    }
    /// Takes `n` if exactly `n` are free, as all are to a writer: one CAS.
    [[nodiscard]] COFLUX_INLINE bool try_acquire_all(std::uint64_t n) noexcept {
        std::uint64_t s = n * one;
        // acquire pairs with the release in try_release() and give().
        return state_.compare_exchange_strong(s, 0, memory_order_acquire, memory_order_relaxed);
    }
    /// release(n) where none is free, which is one CAS if there are no waiters.
    COFLUX_INLINE void release_all(std::uint64_t n) noexcept {
        std::uint64_t s = 0;
        if (!state_.compare_exchange_strong(s, n * one, memory_order_acq_rel, memory_order_relaxed)) [[unlikely]]
            (void)release_slowly(n);  // as try_release()
    }
    /// Gives `n` permits back, or new ones: first to the waiters that now have enough, which are woken. Returns what is
    /// left, as a word.
    COFLUX_INLINE std::uint64_t release(std::uint64_t n) noexcept {
        std::uint64_t after = 0;
        return try_release(n, after) ? after : release_slowly(n);
    }
    /// No permit is given any more; the waiters are refused and woken. Returns what is left, as a word; 0 if it was
    /// closed.
    std::uint64_t close() noexcept;

    /// The word of a count that is closed and has `free` permits.
    [[nodiscard]] static constexpr std::uint64_t closed_with(std::uint64_t free) noexcept {
        return free * one | closed;
    }

    // The number of a moment ago; relaxed: pairs with nothing.
    [[nodiscard]] std::uint64_t free() const noexcept { return state_.load(memory_order_relaxed) / one; }
    [[nodiscard]] bool is_closed() const noexcept { return (state_.load(memory_order_relaxed) & closed) != 0; }
    [[nodiscard]] bool is_awaited() const noexcept { return (state_.load(memory_order_relaxed) & has_waiters) != 0; }

protected:
    ~permit_count() = default;

    /// How many, and whether they were refused because the count was closed.
    struct want {
        std::uint64_t count = 1;
        bool refused = false;
    };

    bool take_now(const want& w) noexcept { return try_acquire(w.count); }
    bool ready_or_mark(want& w) noexcept;
    void unmark() noexcept;
    void serve_next() noexcept;

    wait_list waiters_;

private:
    /// False if there are waiters; else `after` is the word after it.
    COFLUX_INLINE bool try_release(std::uint64_t n, std::uint64_t& after) noexcept {
        std::uint64_t s = state_.load(memory_order_relaxed);
        while ((s & has_waiters) == 0) {
            // release pairs with the acquire of the taker. acquire: the thread that gives the last permit of a closed
            // count back goes on with what all other threads left.
            after = s + n * one;
            // [permits.release]
            if (state_.compare_exchange_weak(s, after, memory_order_acq_rel, memory_order_relaxed)) [[likely]]
                return true;
        }
        return false;
    }
    COFLUX_ASIDE std::uint64_t release_slowly(std::uint64_t n) noexcept;
    std::uint64_t give(std::uint64_t n, wait_chain& served) noexcept;

    // state_: free permits * 4 + closed + has_waiters.
    //
    // has_waiters | changed by
    // ------------|-------------------------------------------------------------------------------------------------
    // 0           | any thread, by CAS; -> 1: a future waiter, under the list's lock
    // 1           | the queue is not empty; all changes under the list's lock; -> 0: with the last of the queue
    //
    // closed: 0 -> 1 once, under the list's lock, which takes all out of the queue: then there are no waiters any more.
    static constexpr std::uint64_t has_waiters = 1;
    static constexpr std::uint64_t closed = 2;
    static constexpr std::uint64_t one = 4;
    atomic<std::uint64_t> state_;
};

}  // namespace coflux::detail
