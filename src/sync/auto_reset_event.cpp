#include <coflux/sync/auto_reset_event.hpp>

namespace coflux {

using detail::adaptive_guard;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::wait_operation;

void auto_reset_event::set_slowly() noexcept {
    for (;;) {
        waiters_.lock.lock();
        if (wait_operation* const first = waiters_.queue.pop_front()) {
            if (waiters_.queue.empty()) unmark();
            waiters_.lock.unlock();  // the last access: the waiter has not been woken yet
            return first->wake();
        }
        waiters_.lock.unlock();
        // Another thread, or a stop, took the last waiter. The CAS is the last touch.
        std::uint32_t s = state_.load(memory_order_relaxed);
        if (s != has_waiters && state_.compare_exchange_strong(s, is_on, memory_order_release, memory_order_relaxed))
            return;
    }
}

/// Under the list's lock: true if it took a set(), else the event has waiters.
bool auto_reset_event::ready_or_mark(want) noexcept {
    std::uint32_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if (s == has_waiters) return false;
        const bool is_set = s == is_on;
        // acquire pairs with the release in set(). The mark publishes nothing: the thread that finds it takes the
        // list's lock.
        if (state_.compare_exchange_weak(s, is_set ? is_off : has_waiters, memory_order_acquire, memory_order_relaxed))
            return is_set;
    }
}

/// Under the list's lock: a stop has taken the last waiter.
void auto_reset_event::unmark() noexcept {
    state_.store(is_off, memory_order_relaxed);
}

template class detail::list_wait<auto_reset_event>;

}  // namespace coflux
