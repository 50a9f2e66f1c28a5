// What the primitives of this folder have in common: a queue under a lock, and awaits that join it only if they must.
//
// The page docs/design/sync.md has the rules that all of them keep.
#pragma once

#include <coroutine>
#include <new>

#include <coflux/base/config.hpp>
#include <coflux/base/spin_lock.hpp>
#include <coflux/core/wait.hpp>
#include <coflux/core/wait_queue.hpp>

namespace coflux::detail {

/// Where the coroutines that wait for one primitive stand.
struct waiting_room {
    spin_lock lock;      // guards `waiters`, and what the primitive says
    wait_queue waiters;  //
};

/// Waits that were taken out under the lock and are woken without it, in order.
class wait_chain {
public:
    void add(wait_operation& w) noexcept {
        w.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &w;
        last_ = &w;
    }
    /// Pre: the room's lock is held.
    void add_all(wait_queue& from) noexcept {
        while (wait_operation* const w = from.pop_front()) add(*w);
    }
    void wake() const noexcept { wake_all(first_); }

private:
    wait_operation* first_ = nullptr;
    wait_operation* last_ = nullptr;  // has a value while first_ has
};

/// The order that every wait keeps. `ready()` is asked under the lock: true if there is nothing to wait for any more; else
/// it has made sure that whoever changes that looks into the queue. `waits` becomes true if the coroutine waits.
/// Errors: as wait_operation::begin().
template <typename Ready>
std::coroutine_handle<> wait_in(waiting_room& room, wait_operation& w, bool& waits, Ready ready) {
    promise_base& p = w.coroutine();
    w.begin();
    room.lock.lock();
    if (w.must_stop()) [[unlikely]] {
        room.lock.unlock();
        w.end();
        return p.stop_here();
    }
    if (ready()) {
        room.lock.unlock();
        w.end();
        return transfer(p.handle());
    }
    waits = true;
    room.waiters.push_back(w);
    room.lock.unlock();  // from here on all of this may be gone
    return wait_operation::suspended();
}

/// Base of an awaiter whose place in the queue, a `Node`, is made only when it has to wait: an await that is ready pays for
/// one flag.
///
/// Shapes: `Node` is a wait_operation without a destructor to speak of, whose `suspend(bool& waits)` is a wait_in().
template <typename Node>
class lazy_wait {
public:
    lazy_wait(const lazy_wait&) = delete;
    lazy_wait& operator=(const lazy_wait&) = delete;

protected:
    COFLUX_INLINE lazy_wait() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no value yet
    COFLUX_INLINE ~lazy_wait() {}          // NOLINT(modernize-use-equals-default)

    template <typename... Args>
    std::coroutine_handle<> wait(promise_base& p, Args&&... args) {
        if (p.suspends()) [[unlikely]]
            return p.stop_here();
        return (::new (static_cast<void*>(&node_)) Node(p, args...))->suspend(waited_);
    }
    /// First thing of await_resume; true if the coroutine has waited.
    COFLUX_INLINE bool resumed() noexcept {
        if (!waited_) [[likely]]
            return false;
        node_.end();
        return true;
    }
    [[nodiscard]] Node& node() noexcept { return node_; }

private:
    bool waited_ = false;
    union {
        Node node_;
    };
};

}  // namespace coflux::detail
