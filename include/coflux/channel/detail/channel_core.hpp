// Everything of a channel that does not depend on the type of its values: the waits at it, and how they are woken;
// lock, slots, queues, close.
//
// The page docs/design/channel.md has the protocol: which thread may touch what when.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

class channel_core;
class select_core;

/// How an operation at a channel ended; `pending` while it waits.
enum class channel_outcome : std::uint8_t { pending, done, closed };

/// Links of a queue. `after` is read without the lock by threads that only want a hint.
struct channel_link {
    relaxed<channel_link*> after;  // nullptr: in no queue
    channel_link* before;          // in no queue: the next of those to be woken
};

/// A send, receive or reserve that waits, or one case of a select. While it is queued everything here is guarded by the
/// lock of its channel; the thread that took it out of the queue, and won its select if it has one, owns it until it is
/// woken.
struct channel_node : channel_link {
    explicit channel_node(channel_core& at) noexcept : core(&at) {}
    channel_node(const channel_node&) = delete;
    channel_node& operator=(const channel_node&) = delete;

    /// Before another thread can find it. `of`: the select whose case `which` it is, or nullptr for a channel_wait.
    COFLUX_INLINE void prepare(select_core* of, std::uint32_t which) noexcept {
        after = nullptr;
        select = of;
        position = which;
    }

    channel_core* core;      // first, as channel_wait::kind says
    void* value;             // a send: the value; a receive: the std::optional for it; a reserve: nullptr
    select_core* select;     // with a value from prepare() on, like `after`
    std::uint32_t position;  //
    channel_outcome outcome = channel_outcome::pending;
};

/// True if the case is its select's first: from now on no other case can win. Called with the lock of the node's
/// channel held.
[[nodiscard]] bool try_win(channel_node& n) noexcept;
/// The node was served, and won: its coroutine goes on.
void wake(channel_node& n) noexcept;

/// First in, first out; guarded by the channel's lock. A circle, so that a node leaves without knowing its queue.
class channel_queue {
public:
    channel_queue() noexcept {
        head_.after = &head_;
        head_.before = &head_;
    }
    channel_queue(const channel_queue&) = delete;
    channel_queue& operator=(const channel_queue&) = delete;

    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return head_.after == &head_; }
    COFLUX_INLINE void push_back(channel_node& n) noexcept {
        channel_link* const last = head_.before;
        n.after = &head_;
        n.before = last;
        last->after = &n;
        head_.before = &n;
    }
    /// Takes `n` out; false if it is in no queue.
    static COFLUX_INLINE bool remove(channel_node& n) noexcept {
        channel_link* const after = n.after;
        if (after == nullptr) return false;
        n.before->after = after;
        after->before = n.before;
        n.after = nullptr;
        return true;
    }
    /// Takes out the first that can be served; nullptr if there is none. Cases of selects that were decided elsewhere
    /// are dropped on the way.
    COFLUX_INLINE channel_node* take() noexcept {
        while (!empty()) {
            channel_node& n = first();
            (void)remove(n);
            if (n.select == nullptr || try_win(n)) return &n;
        }
        return nullptr;
    }
    /// The first that has a value to give: a reserve has none, and waits for a slot, which this does not use.
    COFLUX_INLINE channel_node* take_with_value() noexcept {
        for (channel_link* l = head_.after; l != &head_;) {
            channel_node& n = *static_cast<channel_node*>(l);
            l = n.after;
            if (n.value == nullptr) continue;
            (void)remove(n);
            if (n.select == nullptr || try_win(n)) return &n;
        }
        return nullptr;
    }

private:
    [[nodiscard]] COFLUX_INLINE channel_node& first() const noexcept {
        return *static_cast<channel_node*>(static_cast<channel_link*>(head_.after));
    }

    channel_link head_;
};

/// The waiters that an operation has served, to be woken once no lock is held, oldest first.
class channel_wakes {
public:
    channel_wakes() noexcept = default;
    channel_wakes(const channel_wakes&) = delete;
    channel_wakes& operator=(const channel_wakes&) = delete;

    COFLUX_INLINE void add(channel_node& n, channel_outcome outcome) noexcept {
        n.outcome = outcome;
        n.before = nullptr;
        (first_ == nullptr ? first_ : last_->before) = &n;
        last_ = &n;
    }
    COFLUX_INLINE void wake() noexcept {
        if (first_ == nullptr) return;
        channel_node& n = *static_cast<channel_node*>(first_);
        if (n.before == nullptr && n.select == nullptr) [[likely]]
            return wake_plain(n);
        wake_all();
    }

private:
    static void wake_plain(channel_node& n) noexcept;
    COFLUX_ASIDE void wake_all() noexcept;

    channel_link* first_ = nullptr;
    channel_link* last_ = nullptr;
};

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
    /// Nobody will receive what is sent by a permit from now on.
    [[nodiscard]] bool abandoned_locked() const noexcept { return abandoned_; }
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
    bool abandoned_ = false;            // the last of the counted receivers has died: false -> true, once
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
