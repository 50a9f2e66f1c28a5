#include "time/detail/timer_watch.hpp"

#include <algorithm>

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/time/detail/timer_queue.hpp>

namespace coflux::detail {

void timer_watch::watch(timer_queue& q) {
    const lock_guard<mutex> held(lock_);
    queues_.push_back(&q);
    ++changes_;
}

void timer_watch::forget(timer_queue& q) noexcept {
    unique_lock<mutex> held(lock_);
    queues_.erase(std::remove(queues_.begin(), queues_.end(), &q), queues_.end());
    ++changes_;
    // [timer_watch.leaves]
    left_.wait(held, [this, &q] { return looking_at_ != &q; });
}

void timer_watch::wake() noexcept {
    {
        const lock_guard<mutex> held(lock_);
        if (life_ == life::not_begun) {
            if (start_(*this)) {
                life_ = life::runs;
            } else {
                moment_.forget();  // the next one tries again
            }
            return;
        }
    }
    // [timer_watch.wakes]
    parker_.unpark();
}

void timer_watch::serve() noexcept {
    for (;;) {
        moment_.forget();
        const clock_tick next = look_at_all(now_());
        // [timer_watch.serve.brings_forward]
        (void)moment_.bring_forward(next);
        {
            const lock_guard<mutex> held(lock_);
            if (life_ == life::over) return;
        }
        // A change that brings the moment forward from now on wakes us: its token is taken by the next park at the
        // latest.
        (void)parker_.park_until(moment_.at());
    }
}

/// Hands out what is overdue. Returns when to look again.
clock_tick timer_watch::look_at_all(clock_tick now) noexcept {
    // A coroutine that is resumed in place runs code of users, which may end a pool: not before this thread has left
    // the queues.
    const resumption_pause pause;
    unique_lock<mutex> held(lock_);
    clock_tick next = timing_wheel::never;
    std::size_t seen = changes_;
    for (std::size_t i = 0; i < queues_.size();) {
        timer_queue& q = *queues_[i];
        const clock_tick overdue = overdue_at(q.watched_deadline());
        if (overdue > now) {
            next = std::min(next, overdue);
            ++i;
            continue;
        }
        looking_at_ = &q;
        held.unlock();
        const bool served = q.look_for_owner(now) != 0;
        held.lock();
        looking_at_ = nullptr;
        left_.notify_all();
        if (!served) {
            // [timer_watch.look.retries]
            next = std::min(next, now + retry);
            ++i;
        }
        if (seen != changes_) {
            seen = changes_;
            i = 0;
        }
    }
    return next;
}

bool timer_watch::end() noexcept {
    bool ran = false;
    {
        const lock_guard<mutex> held(lock_);
        ran = life_ == life::runs;
        life_ = life::over;
    }
    parker_.unpark();
    return ran;
}

}  // namespace coflux::detail
