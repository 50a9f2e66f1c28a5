// Where a timer is armed: with its thread's timers, or with the timer service.
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/time/detail/timer_queue.hpp>

#include "time/detail/timer_service.hpp"

namespace coflux::detail {

clock_tick timer::choose_queue(const executor_entry* e) noexcept {
    queue_ = timer_queue::of_thread_for(e);
    return queue_ != nullptr ? queue_->now() : tick_now();
}

void timer::prepare() {
    if (queue_ == nullptr) (void)timer_service::shared();
}

void timer::arm(clock_tick deadline, bool goes_on) noexcept {
    if (queue_ == nullptr) return timer_service::shared().arm(*this, deadline);
    queue_->arm(*this, deadline);
    goes_on ? queue_->notify_watch() : queue_->notify_watch_if_busy();
}

wait_attempt timer::arm_for(wait_operation& w, clock_tick deadline) {
    if (queue_ == nullptr)
        return timer_service::shared().arm(*this, deadline, w) ? wait_attempt::waits : wait_attempt::stop;
    timer_queue& own = *queue_;
    if (!own.arm(*this, deadline, [&w]() noexcept { return w.must_stop(); })) return wait_attempt::stop;
    own.notify_watch_if_busy();
    return wait_attempt::waits;
}

bool timer::disarm() noexcept {
    return queue_ != nullptr ? queue_->take(*this) : timer_service::shared().take(*this);
}

}  // namespace coflux::detail
