#include <coflux/core/detail/wait/permit_count.hpp>

namespace coflux::detail {

/// Under the list's lock: true if it has the permits or is refused, else the count has waiters.
bool permit_count::ready_or_mark(want& w) noexcept {
    std::uint64_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if ((s & closed) != 0) {
            w.refused = true;
            return true;
        }
        if ((s & has_waiters) != 0) return false;
        const bool enough = s / one >= w.count;
        // acquire pairs with the release of the threads that gave the permits back. The mark publishes nothing: the
        // thread that finds it takes the list's lock.
        // [permits.wait.marks]
        if (state_.compare_exchange_weak(s, enough ? s - w.count * one : s | has_waiters, memory_order_acquire,
                                         memory_order_relaxed))
            return enough;
    }
}

/// Under the list's lock: a stop has taken the last waiter.
void permit_count::unmark() noexcept {
    state_.fetch_and(~has_waiters, memory_order_relaxed);  // publishes nothing
}

/// Under the list's lock, while there are waiters: gives `n` more permits, and adds the waiters that they serve to
/// `served`. Returns the word after it.
std::uint64_t permit_count::give(std::uint64_t n, wait_chain& served) noexcept {
    // acquire and release, because a plain store ends what earlier releases began: this one passes on what they
    // published.
    std::uint64_t free = state_.load(memory_order_acquire) / one + n;
    while (wait_operation* const first = waiters_.queue.front()) {
        const std::uint64_t count = static_cast<wanting<want>*>(first)->wants.count;
        if (count > free) break;
        free -= count;
        served.add(*waiters_.queue.pop_front());
    }
    const std::uint64_t after = free * one | (waiters_.queue.empty() ? 0 : has_waiters);
    state_.store(after, memory_order_release);
    return after;
}

std::uint64_t permit_count::release_slowly(std::uint64_t n) noexcept {
    for (;;) {
        wait_chain served;
        waiters_.lock.lock();
        if (!waiters_.queue.empty()) {
            const std::uint64_t after = give(n, served);
            waiters_.lock.unlock();  // the last touch: a served waiter is still inside its await, until it is woken
            served.wake();
            return after;
        }
        waiters_.lock.unlock();
        // A stop or a close took the last waiter. The CAS is the last touch: a coroutine that is served by it may
        // destroy the count.
        if (std::uint64_t after = 0; try_release(n, after)) return after;
    }
}

/// The stopped waiter may have stood in front of waiters that can be served.
void permit_count::serve_next() noexcept {
    wait_chain served;
    {
        const adaptive_guard guard(waiters_.lock);
        if (!waiters_.queue.empty()) (void)give(0, served);
    }
    served.wake();
}

std::uint64_t permit_count::close() noexcept {
    wait_chain refused;
    waiters_.lock.lock();
    // acq_rel: pairs with the other releases, as in try_release().
    const std::uint64_t before = state_.fetch_or(closed, memory_order_acq_rel);
    const bool was_closed = (before & closed) != 0;
    if ((before & has_waiters) != 0) {
        while (wait_operation* const w = waiters_.queue.pop_front()) {
            static_cast<wanting<want>*>(w)->wants.refused = true;
            refused.add(*w);
        }
        // [permits.close.unmarks]
        unmark();
    }
    waiters_.lock.unlock();
    refused.wake();
    return was_closed ? 0 : (before & ~has_waiters) | closed;
}

}  // namespace coflux::detail
