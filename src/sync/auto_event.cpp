#include <coflux/sync/auto_event.hpp>

namespace coflux {

using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::spin_guard;
using detail::wait_operation;

void auto_event::set_slowly() noexcept {
    for (;;) {
        room_.lock.lock();
        if (wait_operation* const first = room_.waiters.pop_front()) {
            if (room_.waiters.empty()) state_.store(is_off, memory_order_relaxed);
            room_.lock.unlock();  // the last touch: the one who goes has not been told yet
            return first->wake();
        }
        room_.lock.unlock();
        // Others, or a stop, took the last one who waited. The CAS is the last touch.
        std::uint32_t s = state_.load(memory_order_relaxed);
        if (s != wanted && state_.compare_exchange_strong(s, is_on, memory_order_release, memory_order_relaxed)) return;
    }
}

/// Under the room's lock: true if it took a set(), else one is `wanted`.
bool auto_event::take_or_want() noexcept {
    std::uint32_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if (s == wanted) return false;
        const bool is_set = s == is_on;
        // acquire pairs with the release in set(). The mark publishes nothing: who finds it takes the room's lock.
        if (state_.compare_exchange_weak(s, is_set ? is_off : wanted, memory_order_acquire, memory_order_relaxed))
            return is_set;
    }
}

std::coroutine_handle<> auto_event::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.take_or_want(); });
}

bool auto_event::wait_node::claim(wait_operation& w) noexcept {
    auto_event& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    if (!of.room_.waiters.remove(w)) return false;
    if (of.room_.waiters.empty()) of.state_.store(is_off, memory_order_relaxed);
    return true;
}

constinit const detail::wait_kind auto_event::wait_node::kind{&claim, &wait_operation::stop_claimed, "an auto_event"};

}  // namespace coflux
