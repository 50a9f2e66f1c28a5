// The waits at a channel: the nodes of its two queues, and how their owners are woken.
//
// The page docs/design/channel.md has the protocol: which thread may touch a node when.
#pragma once

#include <cstddef>
#include <cstdint>

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

    channel_core* core;
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

}  // namespace coflux::detail
