#include <coflux/sync/semaphore.hpp>

namespace coflux {

using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::spin_guard;
using detail::wait_operation;

/// Under the room's lock: true if it has the permits, else they are `wanted`.
bool semaphore::acquire_or_want(std::size_t n) noexcept {
    std::uint64_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if ((s & wanted) != 0) return false;
        const bool enough = s / one >= n;
        // acquire pairs with the release of those who gave them back. The mark publishes nothing: who finds it takes the
        // room's lock.
        if (state_.compare_exchange_weak(s, enough ? s - n * one : s | wanted, memory_order_acquire,
                                         memory_order_relaxed))
            return enough;
    }
}

/// Under the room's lock, while somebody waits or did until a stop took him: `n` more permits, and whoever is served by them.
void semaphore::give(std::size_t n, detail::wait_chain& served) noexcept {
    // acquire and release, because a plain store ends what earlier releases began: this one passes on what they published.
    std::uint64_t available = state_.load(memory_order_acquire) / one + n;
    while (wait_operation* const first = room_.waiters.front()) {
        const std::size_t count = static_cast<wait_node*>(first)->count_;
        if (count > available) break;
        available -= count;
        served.add(*room_.waiters.pop_front());
    }
    state_.store(available * one | (room_.waiters.empty() ? 0 : wanted), memory_order_release);
}

void semaphore::release_slowly(std::size_t n) noexcept {
    do {
        detail::wait_chain served;
        room_.lock.lock();
        if (!room_.waiters.empty()) {
            give(n, served);
            room_.lock.unlock();  // the last touch: whoever was served is still inside acquire(), until he is woken
            return served.wake();
        }
        room_.lock.unlock();
        // A stop took the last one who waited. The CAS is the last touch: whoever it serves may destroy the semaphore.
    } while (!try_release(n));
}

std::coroutine_handle<> semaphore::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.acquire_or_want(count_); });
}

bool semaphore::wait_node::claim(wait_operation& w) noexcept {
    semaphore& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    if (!of.room_.waiters.remove(w)) return false;
    // The last one leaves no mark behind; the others may be served, but not here.
    if (of.room_.waiters.empty()) {
        detail::wait_chain nobody;
        of.give(0, nobody);
    }
    return true;
}

/// The one who is stopped may have stood in front of requests that can be served.
void semaphore::wait_node::stop(wait_operation& w) noexcept {
    semaphore& of = static_cast<wait_node&>(w).of_;
    detail::wait_chain served;
    {
        const spin_guard guard(of.room_.lock);
        if (!of.room_.waiters.empty()) of.give(0, served);
    }
    served.wake();
    wait_operation::stop_claimed(w);
}

constinit const detail::wait_kind semaphore::wait_node::kind{&claim, &stop, "a semaphore"};

}  // namespace coflux
