#include <coflux/sync/latch.hpp>

namespace coflux {

using detail::adaptive_guard;
using detail::memory_order_acq_rel;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::wait_operation;

/// Under the list's lock: true if the latch is open, else it has waiters.
bool latch::ready_or_mark(want) noexcept {
    std::uint64_t s = state_.load(memory_order_acquire);  // pairs with the last count
    while (s >= one && (s & has_waiters) == 0) {
        // The mark publishes nothing: the thread that finds it takes the list's lock. acquire: the latch may have been
        // opened.
        if (state_.compare_exchange_weak(s, s | has_waiters, memory_order_acquire, memory_order_acquire)) return false;
    }
    return s < one;
}

/// The last count, with waiters. Zero lets a thread that looks go on and destroy the latch, so it is written last: the
/// waiters are taken out before, and woken after it. A waiter that comes in between is taken out in the next round.
void latch::open_slowly(std::size_t n) noexcept {
    detail::wait_chain opened;
    for (;;) {
        std::uint64_t s = state_.load(memory_order_relaxed);
        COFLUX_VERIFY(s / one >= n, "a latch was counted down below zero");
        if (s / one > n || (s & has_waiters) == 0) {
            // acq_rel: a thread that sees zero sees what was done before every count.
            if (!state_.compare_exchange_weak(s, s - n * one, memory_order_acq_rel, memory_order_relaxed)) continue;
            return opened.wake();
        }
        const adaptive_guard guard(waiters_.lock);
        opened.add_all(waiters_.queue);
        unmark();
    }
}

/// Under the list's lock: the last waiter was taken out. Publishes nothing.
void latch::unmark() noexcept {
    state_.fetch_and(~has_waiters, memory_order_relaxed);
}

template class detail::list_wait<latch>;

}  // namespace coflux
