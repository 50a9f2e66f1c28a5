#include <coflux/sync/mutex.hpp>

namespace coflux {

using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::spin_guard;
using detail::wait_operation;

bool mutex::enter_or_want() noexcept {
    std::uint32_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if (s == wanted) return false;
        const bool is_free = s == unlocked;
        // acquire pairs with the release in leave(). The mark publishes nothing: who finds it takes the room's lock.
        if (state_.compare_exchange_weak(s, is_free ? locked : wanted, memory_order_acquire, memory_order_relaxed))
            return is_free;
    }
}

// relaxed in the next two: `locked` lets nobody in, and the owner publishes what he did when he leaves.
wait_operation& mutex::next_owner() noexcept {
    wait_operation& next = *room_.waiters.pop_front();
    if (room_.waiters.empty()) state_.store(locked, memory_order_relaxed);
    return next;
}

bool mutex::withdraw(wait_operation& w) noexcept {
    if (!room_.waiters.remove(w)) return false;
    if (room_.waiters.empty()) state_.store(locked, memory_order_relaxed);
    return true;
}

void mutex::leave_slowly() noexcept {
    for (;;) {
        room_.lock.lock();
        if (!room_.waiters.empty()) {
            wait_operation& next = next_owner();
            room_.lock.unlock();  // the last touch: the next owner has not been told yet
            return next.wake();
        }
        room_.lock.unlock();
        // A stop took the last one who waited. The CAS is the last touch: whoever is let in by it may destroy the mutex.
        std::uint32_t s = locked;
        // release pairs with the acquire in enter().
        if (state_.compare_exchange_strong(s, unlocked, detail::memory_order_release, memory_order_relaxed)) return;
    }
}

std::coroutine_handle<> mutex::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.enter_or_want(); });
}

bool mutex::wait_node::claim(wait_operation& w) noexcept {
    mutex& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    return of.withdraw(w);
}

constinit const detail::wait_kind mutex::wait_node::kind{&claim, &wait_operation::stop_claimed, "a mutex"};

}  // namespace coflux
