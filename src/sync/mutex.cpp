#include <coflux/sync/mutex.hpp>

namespace coflux {

using detail::adaptive_guard;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::wait_operation;

void mutex::forget_holder() noexcept {
    // [mutex.forget]
    state_.fetch_and(flags, memory_order_relaxed);  // publishes nothing
}

bool mutex::ready_or_mark(want of) noexcept {
    word s = state_.load(memory_order_relaxed);
    for (;;) {
        if ((s & has_waiters) != 0) return false;
        const bool is_free = s == unlocked;
        // acquire pairs with the release in leave(). The mark publishes nothing: the thread that finds it takes the
        // list's lock.
        if (state_.compare_exchange_weak(s, is_free ? of.held : s | has_waiters, memory_order_acquire,
                                         memory_order_relaxed))
            return is_free;
    }
}

/// Under the list's lock: the last waiter was taken out. relaxed: `locked` lets no coroutine in, and the owner
/// publishes what it did when it leaves.
void mutex::unmark() noexcept {
    state_.fetch_and(~has_waiters, memory_order_relaxed);
}

wait_operation& mutex::next_owner() noexcept {
    wait_operation& next = *waiters_.queue.pop_front();
    // The guard of a condition variable's waiter may be that of a coroutine above.
    const bool is_known = next.kind().holder_at != detail::wait_kind::no_holder;
    const want of(is_known ? &next.coroutine() : nullptr);
    // relaxed: `locked` lets no coroutine in, and the owner publishes what it did when it leaves.
    // [mutex.hands_over]
    state_.store(of.held | (waiters_.queue.empty() ? 0 : has_waiters), memory_order_relaxed);
    return next;
}

bool mutex::withdraw(wait_operation& w) noexcept {
    if (!waiters_.queue.remove(w)) return false;
    if (waiters_.queue.empty()) unmark();
    return true;
}

void mutex::leave_slowly() noexcept {
    for (;;) {
        waiters_.lock.lock();
        if (!waiters_.queue.empty()) {
            wait_operation& next = next_owner();
            waiters_.lock.unlock();  // the last access: the next owner has not been woken yet
            return next.wake();
        }
        waiters_.lock.unlock();
        // A stop took the last waiter. The CAS is the last touch: a coroutine that is let in by it may destroy the
        // mutex.
        word s = state_.load(memory_order_relaxed) & ~has_waiters;
        // release pairs with the acquire in enter().
        if (state_.compare_exchange_strong(s, unlocked, detail::memory_order_release, memory_order_relaxed)) return;
    }
}

template class detail::list_wait<mutex>;

}  // namespace coflux
