// Everything of a channel that does not depend on the type of its values: lock, slots, queues, close.
//
// The page docs/design/channel.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/channel/detail/channel_node.hpp>

namespace coflux::detail {

/// Base of all channels.
class channel_core {
public:
    explicit channel_core(std::size_t capacity) noexcept : capacity_(capacity) {}
    channel_core(const channel_core&) = delete;
    channel_core& operator=(const channel_core&) = delete;
    /// No coroutine may be waiting any more, and no permit or counted end may be out.
    ~channel_core();

    COFLUX_INLINE void lock() noexcept { lock_.lock(); }
    COFLUX_INLINE void unlock() noexcept { lock_.unlock(); }

    // Counted ends. relaxed in what adds: the channel, or the end that is copied, is the caller's.
    void add_sender() noexcept { sender_ends_.fetch_add(1, memory_order_relaxed); }
    void add_receiver() noexcept { receiver_ends_.fetch_add(1, memory_order_relaxed); }
    /// The last one closes.
    void remove_sender() noexcept;
    /// The last one closes; true if this was the last.
    bool remove_receiver() noexcept;

    void close() noexcept;
    // [channel.is_closed]
    [[nodiscard]] bool is_closed() const noexcept { return closed_.load(memory_order_acquire); }  // pairs with close()
    [[nodiscard]] bool is_drained() noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

    // Hints without the lock: true if the operation would wait. The answer may be old; a coroutine that then waits
    // looks again under the lock.
    [[nodiscard]] COFLUX_INLINE bool send_would_wait() const noexcept {
        return count_ + reserved_ == capacity_ && receivers_.empty() && !closed_.load(memory_order_relaxed);
    }
    [[nodiscard]] COFLUX_INLINE bool receive_would_wait() const noexcept {
        return count_ == 0 && senders_.empty() && !closed_.load(memory_order_relaxed);
    }

    /// Where a select that begins with this channel starts to look: a number below `cases`.
    [[nodiscard]] std::uint32_t next_start(std::uint32_t cases) noexcept {
        const std::uint32_t turn = turn_ * 1664525U + 1013904223U;
        turn_ = turn;  // two threads at once may take one turn: no harm
        return static_cast<std::uint32_t>((std::uint64_t{turn} * cases) >> 32);
    }

    // With the lock held:

    [[nodiscard]] COFLUX_INLINE bool closed_locked() const noexcept { return closed_.load(memory_order_relaxed); }
    /// True if nothing can be received any more.
    [[nodiscard]] COFLUX_INLINE bool drained_locked() const noexcept {
        return closed_locked() && count_ == 0 && reserved_ == 0;
    }
    [[nodiscard]] COFLUX_INLINE bool has_free_slot() const noexcept { return count_ + reserved_ != capacity_; }
    [[nodiscard]] COFLUX_INLINE channel_queue& senders() noexcept { return senders_; }
    [[nodiscard]] COFLUX_INLINE channel_queue& receivers() noexcept { return receivers_; }
    /// A slot for a permit.
    channel_outcome reserve_locked() noexcept {
        if (closed_locked()) return channel_outcome::closed;
        if (!has_free_slot()) return channel_outcome::pending;
        reserved_ = reserved_ + 1;
        return channel_outcome::done;
    }
    /// Tells the waiters for a value that none will come, if that is so.
    void finish_if_drained(channel_wakes& wakes) noexcept {
        if (drained_locked()) [[unlikely]]
            finish(wakes);
    }

protected:
    /// The slot that is filled next; it counts as filled from now on.
    COFLUX_INLINE std::size_t fill_slot() noexcept {
        std::size_t at = head_ + count_;
        if (at >= capacity_) at -= capacity_;
        count_ = count_ + 1;
        return at;
    }
    /// The slot of the oldest value; it counts as empty from now on.
    COFLUX_INLINE std::size_t empty_slot() noexcept {
        const std::size_t at = head_;
        head_ = at + 1 == capacity_ ? 0 : at + 1;
        count_ = count_ - 1;
        return at;
    }
    void give_up_reserved() noexcept { reserved_ = reserved_ - 1; }
    void reserve_slot() noexcept { reserved_ = reserved_ + 1; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    void finish(channel_wakes& wakes) noexcept;

    // Written under the lock. Hints read without it, too: `relaxed` pairs with nothing.
    adaptive_lock lock_;
    atomic<bool> closed_{false};        // false -> true, once; the store is a release, for is_closed()
    relaxed<std::uint32_t> turn_{0};    // seeds where a select begins; written without the lock, pairs with nothing
    std::size_t head_ = 0;              // the place of the oldest value
    relaxed<std::size_t> count_{0};     // values in slots
    relaxed<std::size_t> reserved_{0};  // slots that permits hold
    const std::size_t capacity_;        // 0: rendezvous
    // Counted ends alive: channel_sender, channel_receiver. 1 -> 0: that end closes. 0 at first, and where ends are not
    // used.
    atomic<std::uint32_t> sender_ends_{0};
    atomic<std::uint32_t> receiver_ends_{0};
    channel_queue senders_;    // sends and reserves; while one waits no slot is free
    channel_queue receivers_;  // while one waits there is no value in a slot, and no send waits
};

/// A plain `co_await` of one operation at a channel, while it waits.
class channel_wait : public wait_operation, public channel_node {
public:
    COFLUX_INLINE channel_wait(promise_base& p, channel_core& at) noexcept
        : wait_operation(p, kind),
          channel_node(at) {}

private:
    static bool claim(wait_operation& op) noexcept;
    static const wait_kind kind;
};

COFLUX_INLINE void channel_wakes::wake_plain(channel_node& n) noexcept {
    static_cast<channel_wait&>(n).wake();
}

}  // namespace coflux::detail
