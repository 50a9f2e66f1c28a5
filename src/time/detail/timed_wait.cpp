#include <coflux/time/detail/timed_wait.hpp>

#include <coflux/core/detail/thread/transfer.hpp>

#include "time/detail/timer_service.hpp"

namespace coflux::detail {

constinit const timer_kind timed_wait::how_it_ends{&timed_wait::come_due, &timed_wait::whose,
                                                   "waits for a moment in time"};

/// Under the lock: serves `w`, which is not queued, if no other waiter is in front.
bool timed_wait_list::serve_first(timed_wait& w, clock_tick now) noexcept {
    return queue_.empty() && kind_.serve(*this, w, now);
}

/// Under the lock: serve_first(), or it waits.
bool timed_wait_list::serve_or_queue(timed_wait& w, clock_tick now) noexcept {
    if (serve_first(w, now)) return true;
    w.progress_ = wait_progress::waited;
    const bool is_front = queue_.empty();
    queue_.push_back(w);
    const clock_tick at = is_front ? kind_.due(*this, w) : timing_wheel::never;
    if (at != timing_wheel::never) set_alarm(w, at, false);
    return false;
}

/// Under the lock: serves those that can be, and sees to it that the alarm comes no later than the first that cannot.
/// An alarm that comes too early stays: it costs a look for nothing, and setting it again for each later moment costs
/// more.
void timed_wait_list::settle(clock_tick now, wait_chain& served) noexcept {
    clock_tick next = timing_wheel::never;
    while (wait_operation* const first = queue_.front()) {
        auto& w = static_cast<timed_wait&>(*first);
        if (!kind_.serve(*this, w, now)) {
            next = kind_.due(*this, w);
            break;
        }
        take_out_front(served);
    }
    if (next == timing_wheel::never) return;
    auto& front = static_cast<timed_wait&>(*queue_.front());
    // Where the timer is being handed out already, the thread that does so settles again.
    if (alarm_ != nullptr && (alarm_at_ <= next || !front.disarm())) return;
    set_alarm(front, next, true);
}

/// The front has been served.
void timed_wait_list::take_out_front(wait_chain& served) noexcept {
    auto& w = static_cast<timed_wait&>(*queue_.pop_front());
    if (alarm_ == &w) {
        alarm_ = nullptr;
        if (!w.disarm()) {
            w.leaving_ = timed_wait::leaving::served;
            return;
        }
    }
    served.add(w);
}

/// `goes_on`: as timer::arm().
void timed_wait_list::set_alarm(timed_wait& front, clock_tick at, bool goes_on) noexcept {
    alarm_ = &front;
    alarm_at_ = at;
    (void)front.choose_queue(front.coroutine().runs_on());
    front.timer::arm(at, goes_on);
}

bool timed_wait::await_ready() noexcept {
    const clock_tick now = tick_now();
    of_.lock_.lock();
    const bool served = of_.serve_first(*this, now);
    of_.lock_.unlock();
    if (!served) return false;
    progress_ = goes_on() ? wait_progress::ready : wait_progress::let_others_run;
    return progress_ == wait_progress::ready;
}

std::coroutine_handle<> timed_wait::await_suspend(std::coroutine_handle<>) {
    promise_base& p = coroutine();
    if (progress_ == wait_progress::let_others_run) return let_others_run(p);
    (void)timer_service::shared();  // from now on an alarm can be set without an error, on any thread
    return wait_by(*this, [this]() noexcept {
        timed_wait_list& of = of_;
        const clock_tick now = tick_now();
        const adaptive_guard guard(of.lock_);
        if (must_stop()) return wait_attempt::stop;
        if (!of.serve_or_queue(*this, now)) return wait_attempt::waits;
        progress_ = wait_progress::ready;
        return wait_attempt::ready;
    });
}

bool timed_wait::claim(wait_operation& waiting) noexcept {
    auto& w = static_cast<timed_wait&>(waiting);
    timed_wait_list& of = w.of_;
    const adaptive_guard guard(of.lock_);
    if (!of.queue_.remove(w)) return false;
    if (of.alarm_ == &w) {
        of.alarm_ = nullptr;
        if (!w.disarm()) w.leaving_ = leaving::claimed;
    }
    return true;
}

void timed_wait::stop(wait_operation& claimed) noexcept {
    auto& w = static_cast<timed_wait&>(claimed);
    timed_wait_list& of = w.of_;
    wait_chain served;
    const clock_tick now = tick_now();
    of.lock_.lock();
    of.settle(now, served);
    const bool wakes = w.leaving_ != leaving::claimed;
    if (!wakes) w.leaving_ = leaving::stop_came;
    of.lock_.unlock();
    served.wake();
    if (wakes) stop_claimed(w);
}

void timed_wait::come_due(timer& t) noexcept {
    auto& w = static_cast<timed_wait&>(t);
    timed_wait_list& of = w.of_;
    wait_chain served;
    const clock_tick now = tick_now();
    bool stops = false;
    of.lock_.lock();
    if (of.alarm_ == &w) {
        of.alarm_ = nullptr;
        of.settle(now, served);
    } else if (w.leaving_ == leaving::served) {
        served.add(w);
    } else if (w.leaving_ == leaving::claimed) {
        w.leaving_ = leaving::alarm_came;
    } else {
        stops = true;  // stop() has come
    }
    of.lock_.unlock();  // the last access, but for a waiter that only this thread can wake
    served.wake();
    if (stops) stop_claimed(w);
}

const environment& timed_wait::whose(const timer& t) noexcept {
    return static_cast<const timed_wait&>(t).coroutine();
}

}  // namespace coflux::detail
