#include <coflux/sync/latch.hpp>

namespace coflux {

using detail::memory_order_acq_rel;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::spin_guard;
using detail::wait_operation;

/// Under the room's lock: true if the latch is open, else it is `wanted`.
bool latch::is_open_or_want() noexcept {
    std::uint64_t s = state_.load(memory_order_acquire);  // pairs with the last count
    while (s >= one && (s & wanted) == 0) {
        // The mark publishes nothing: who finds it takes the room's lock. acquire: it may have been opened.
        if (state_.compare_exchange_weak(s, s | wanted, memory_order_acquire, memory_order_acquire)) return false;
    }
    return s < one;
}

/// The last count, with waiters. Zero lets whoever looks go on and destroy the latch, so it is written last: those who wait are
/// taken out before, and told after it. Who comes in between is taken out in the next round.
void latch::open_slowly(std::size_t n) noexcept {
    detail::wait_chain opened;
    for (;;) {
        std::uint64_t s = state_.load(memory_order_relaxed);
        COFLUX_VERIFY(s / one >= n, "a latch was counted down below zero");
        if (s / one > n || (s & wanted) == 0) {
            // acq_rel: who sees zero sees what was done before every count.
            if (!state_.compare_exchange_weak(s, s - n * one, memory_order_acq_rel, memory_order_relaxed)) continue;
            return opened.wake();
        }
        const spin_guard guard(room_.lock);
        opened.add_all(room_.waiters);
        state_.fetch_and(~wanted, memory_order_relaxed);  // publishes nothing; see above
    }
}

std::coroutine_handle<> latch::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.is_open_or_want(); });
}

bool latch::wait_node::claim(wait_operation& w) noexcept {
    latch& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    if (!of.room_.waiters.remove(w)) return false;
    if (of.room_.waiters.empty()) of.state_.fetch_and(~wanted, memory_order_relaxed);
    return true;
}

constinit const detail::wait_kind latch::wait_node::kind{&claim, &wait_operation::stop_claimed, "a latch"};

}  // namespace coflux
