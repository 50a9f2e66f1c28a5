// The page docs/design/pool_events.md has the protocol.
#include "pool_events.hpp"

#include <algorithm>
#include <utility>

namespace coflux::detail {
namespace {

constexpr clock_tick looked_recently = pool_events::latest_look / 2;  // a worker that did will look again
constexpr clock_tick longest_period = pool_events::latest_look;       // of the guard's alarm
constexpr clock_tick shortest_period = longest_period / 4;            // after the guard has stepped in

}  // namespace

void pool_events::adopt(std::shared_ptr<event_source> source) {
    {
        const lock_guard<mutex> held(lock_);
        if (this->source() != nullptr) return;
        if (idle_.size() > 1) alarm_.emplace();
        period_.store(longest_period, memory_order_relaxed);  // before the source is there
        publish(std::move(source));
    }
    // A worker must look at the seats.
    idle_.wake_one();
    idle_.wake_one();
}

bool pool_events::is_looked_at(clock_tick now) const noexcept {
    // A look may have ended after the caller read the clock.
    const clock_tick at = looked_at_.load(memory_order_relaxed);
    return driver_.load(memory_order_relaxed) != driver::none || at > now || now - at < looked_recently;
}

pool_events::seat pool_events::take_seat(std::size_t worker) noexcept {
    const bool leave_it = looked_by() != worker && idle_.awake() > 1 && is_looked_at(tick_now());
    if (!leave_it && try_drive_as(driver::sleeps)) return seat::poller;
    // seq_cst: before the look at the driver; pairs with leave_poll(). acquire pairs with leave_guard().
    // [pool_events.take_seat.guard]
    if (!guarded_.load(memory_order_relaxed) && !guarded_.exchange(true, memory_order_seq_cst)) {
        // [pool_events.take_seat.driver]
        if (driver_.load(memory_order_seq_cst) != driver::sleeps) set_alarm();
        return seat::guard;
    }
    return leave_it && try_drive_as(driver::sleeps) ? seat::poller : seat::none;
}

void pool_events::leave_poll() noexcept {
    // [pool_events.leave_poll.driver]
    driver_.store(driver::looks, memory_order_seq_cst);  // before the look for a guard; pairs with take_seat()
    // [pool_events.leave_poll.guard]
    if (guarded_.load(memory_order_seq_cst)) return set_alarm();
    if (alarm_) idle_.wake_one();  // one that parked without a seat takes the guard's
}

void pool_events::leave_guard(bool stepped_in) noexcept {
    guarded_.store(false, memory_order_seq_cst);  // before the look at the driver; pairs with leave_poll(), take_seat()
    // Another one takes the seat, unless the poller wakes one when it leaves.
    if (stepped_in || driver_.load(memory_order_seq_cst) != driver::sleeps) idle_.wake_one();
}

/// By the poller that leaves, or by the guard.
void pool_events::set_alarm() noexcept {
    // seq_cst: after the driver's word was written; pairs with the exchange in must_step_in()
    // [pool_events.set_alarm.armed]
    if (armed_.load(memory_order_seq_cst) || armed_.exchange(true, memory_order_seq_cst)) return;
    alarm_->set(tick_now() + period_.load(memory_order_relaxed));
}

bool pool_events::must_step_in() noexcept {
    if (!alarm_->take_went_off()) return false;
    const clock_tick now = tick_now();
    const clock_tick period = period_.load(memory_order_relaxed);
    // [pool_events.must_step_in.armed]
    (void)armed_.exchange(false, memory_order_seq_cst);  // before the look at the driver; pairs with set_alarm()
    if (!is_looked_at(now)) {
        period_.store(shortest_period, memory_order_relaxed);
        return true;
    }
    period_.store(std::min(period + period / 16, longest_period), memory_order_relaxed);
    // [pool_events.must_step_in.alarm]
    if (driver_.load(memory_order_seq_cst) != driver::sleeps) set_alarm();
    return false;
}

}  // namespace coflux::detail
