#include <coflux/sync/manual_reset_event.hpp>

namespace coflux {

using detail::adaptive_guard;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::wait_operation;

/// `is_on` lets a thread that looks go on and destroy the event, so it is written last: the waiters are taken out
/// before, and woken after it. A waiter that comes in between is taken out in the next round.
void manual_reset_event::set() noexcept {
    detail::wait_chain all;
    std::uint32_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if (s != has_waiters) {
            // A write even if it was set: a later reset() then sees what came before this call, too. release pairs with
            // the acquire in reset() and is_set().
            // [stop.event.set]
            if (state_.compare_exchange_weak(s, is_on, memory_order_release, memory_order_relaxed)) return all.wake();
            continue;
        }
        const adaptive_guard guard(waiters_.lock);
        all.add_all(waiters_.queue);
        // Under the lock no other thread leaves `has_waiters`. If there are no waiters any more, a thread has left it
        // before.
        if (state_.load(memory_order_relaxed) == has_waiters) state_.store(is_off, memory_order_relaxed);
        s = state_.load(memory_order_relaxed);
    }
}

/// Under the list's lock: true if the event is set, else it has waiters.
bool manual_reset_event::ready_or_mark(want) noexcept {
    // [stop.event.looks]
    std::uint32_t s = state_.load(memory_order_acquire);  // pairs with the release in set()
    while (s == is_off) {
        // The mark publishes nothing: the thread that finds it takes the list's lock. acquire: the event may have been
        // set.
        // [stop.event.wants]
        if (state_.compare_exchange_weak(s, has_waiters, memory_order_acquire, memory_order_acquire)) return false;
    }
    return s == is_on;
}

/// Under the list's lock: a stop has taken the last waiter.
void manual_reset_event::unmark() noexcept {
    state_.store(is_off, memory_order_relaxed);
}

template class detail::list_wait<manual_reset_event>;

}  // namespace coflux
