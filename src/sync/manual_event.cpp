#include <coflux/sync/manual_event.hpp>

namespace coflux {

using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::spin_guard;
using detail::wait_operation;

/// `is_on` lets whoever looks go on and destroy the event, so it is written last: those who wait are taken out before, and
/// told after it. Who comes in between is taken out in the next round.
void manual_event::set() noexcept {
    detail::wait_chain all;
    std::uint32_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if (s != wanted) {
            // A write even if it was set: a later reset() then sees what came before this call, too. release pairs with
            // the acquire in reset() and is_set().
            if (state_.compare_exchange_weak(s, is_on, memory_order_release, memory_order_relaxed)) return all.wake();
            continue;
        }
        const spin_guard guard(room_.lock);
        all.add_all(room_.waiters);
        // Under the lock nobody else leaves `wanted`; if nobody waits any more, somebody has.
        if (state_.load(memory_order_relaxed) == wanted) state_.store(is_off, memory_order_relaxed);
        s = state_.load(memory_order_relaxed);
    }
}

/// Under the room's lock: true if the event is set, else it is `wanted`.
bool manual_event::is_set_or_want() noexcept {
    std::uint32_t s = state_.load(memory_order_acquire);  // pairs with the release in set()
    while (s == is_off) {
        // The mark publishes nothing: who finds it takes the room's lock. acquire: it may have been set.
        if (state_.compare_exchange_weak(s, wanted, memory_order_acquire, memory_order_acquire)) return false;
    }
    return s == is_on;
}

std::coroutine_handle<> manual_event::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.is_set_or_want(); });
}

bool manual_event::wait_node::claim(wait_operation& w) noexcept {
    manual_event& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    if (!of.room_.waiters.remove(w)) return false;
    if (of.room_.waiters.empty()) of.state_.store(is_off, memory_order_relaxed);
    return true;
}

constinit const detail::wait_kind manual_event::wait_node::kind{&claim, &wait_operation::stop_claimed,
                                                                "a manual_event"};

}  // namespace coflux
