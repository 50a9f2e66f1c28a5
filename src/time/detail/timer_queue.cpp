// The page docs/design/time.md has the protocol.
#include <coflux/time/detail/timer_queue.hpp>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/thread/worker.hpp>

#include "time/detail/timer_watch.hpp"

namespace coflux::detail {

timer_queue::~timer_queue() {
    COFLUX_VERIFY(wheel_.empty(), "an executor ends while coroutines sleep on it");
}

void timer_queue::arm_deferred(clock_tick now) noexcept {
    const adaptive_guard held(lock_);
    while (deferred_timer* const t = deferred_.pop_front()) {
        wheel_.insert(*t, t->end_.after(now));
        counts_.add_armed();
    }
    // seq_cst: as in arm().
    if (wheel_.next_deadline() < next_deadline()) next_.store(wheel_.next_deadline(), memory_order_seq_cst);
}

std::size_t timer_queue::look(clock_tick now) noexcept {
    seen_.store(now, memory_order_relaxed);  // pairs with nothing
    if (next_deadline() > now) return 0;
    const resumption_pause pause;
    lock_.lock();
    return hand_out_locked(now);
}

std::size_t timer_queue::look_for_owner(clock_tick now) noexcept {
    const resumption_pause pause;
    return lock_.try_lock() ? hand_out_locked(now) : 0;
}

/// Pre: the lock is held. It is released around each due(), which may stop a tree and run code of users, and at the
/// end.
std::size_t timer_queue::hand_out_locked(clock_tick now) noexcept {
    wheel_.expire(now);
    std::size_t handed_out = 0;
    for (; handed_out < portion; ++handed_out) {
        auto* const t = static_cast<timer*>(wheel_.take());
        if (t == nullptr) break;
        lock_.unlock();
        t->kind_->due(*t);
        lock_.lock();
    }
    counts_.add_fired(handed_out);
    publish_next();
    lock_.unlock();
    return handed_out;
}

void timer_queue::pass_to(clock_tick now) noexcept {
    seen_.store(now, memory_order_relaxed);  // pairs with nothing
    const adaptive_guard held(lock_);
    wheel_.expire(now);
    publish_next();
}

bool timer_queue::hand_out_one() noexcept {
    const resumption_pause pause;
    timer* t = nullptr;
    {
        const adaptive_guard held(lock_);
        t = static_cast<timer*>(wheel_.take());
        if (t != nullptr) counts_.add_fired(1);
        publish_next();
    }
    if (t == nullptr) return false;
    t->kind_->due(*t);
    return true;
}

void timer_queue::notify_watch_if_busy_aside() noexcept {
    const bool stands_on_another = this_thread.below != nullptr || this_thread.nested_limit >= nested_closed;
    if (stands_on_another || worker::thread_has_queued()) notify_watch();
}

void timer_queue::notify_watch_aside() noexcept {
    watch_->look_until(timer_watch::overdue_at(next_deadline()));
}

}  // namespace coflux::detail
