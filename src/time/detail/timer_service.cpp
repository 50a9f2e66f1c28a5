#include "time/detail/timer_service.hpp"

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

#include "os/thread/thread.hpp"

namespace coflux::detail {

timer_service& timer_service::shared() {
    return this_thread.driver != nullptr ? this_thread.driver->timers() : of_process();
}

namespace {

// nullptr until there is one; set once. release and acquire: a thread that finds it sees a whole one.
constinit atomic<const timer_counts*> counts_of_service{nullptr};

}  // namespace

const timer_counts* timer_service::counts_of_process() noexcept {
    return counts_of_service.load(memory_order_acquire);
}

timer_service& timer_service::of_process() {
    // Static objects that die later may still take their timers back: the object stays, only the thread ends.
    struct owner {
        timer_service& service;
        owner() : service(*new timer_service(tick_now())) {
            service.thread_ = thread([this] { service.serve(); });
            counts_of_service.store(&service.counts_, memory_order_release);
        }
        ~owner() { service.end(); }
    };
    static owner the_one;
    return the_one.service;
}

void timer_service::insert(timer& t, clock_tick deadline, unique_lock<mutex>& held) noexcept {
    COFLUX_VERIFY(!ends_, "a coroutine sleeps after the end of main()");
    COFLUX_VERIFY(process_.is_here() || !thread_.joinable(),
                  "a coroutine without a pool sleeps in the child of a fork(), where the thread of the timers is not");
    wheel_.insert(t, deadline);
    counts_.add_armed();
    const bool sooner = deadline < sleeps_until_;
    if (sooner) sleeps_until_ = deadline;  // no other thread needs to wake it for that
    held.unlock();
    if (sooner) parker_.unpark();
}

void timer_service::arm(timer& t, clock_tick deadline) noexcept {
    unique_lock<mutex> held(lock_);
    insert(t, deadline, held);
}

bool timer_service::arm(timer& t, clock_tick deadline, wait_operation& w) noexcept {
    unique_lock<mutex> held(lock_);
    if (w.must_stop()) return false;
    insert(t, deadline, held);
    return true;
}

bool timer_service::take(timer& t) noexcept {
    const lock_guard<mutex> held(lock_);
    if (!wheel_.cancel(t)) return false;
    counts_.add_cancelled();
    return true;
}

/// The first that is due.
bool timer_service::hand_out(unique_lock<mutex>& held) noexcept {
    auto* const t = static_cast<timer*>(wheel_.take());
    if (t == nullptr) return false;
    counts_.add_fired(1);
    // Out of the wheel under the lock that take() holds: a thread that takes a timer knows that this thread does not
    // look at it.
    held.unlock();
    {
        const resumption_pause pause;
        t->kind_->due(*t);
    }
    held.lock();
    return true;
}

bool timer_service::hand_out_one() noexcept {
    unique_lock<mutex> held(lock_);
    return hand_out(held);
}

void timer_service::serve() noexcept {
    os::name_this_thread("coflux-timers");
    os::expect_precise_wake_ups();
    this_thread.keeps_timers = true;
    unique_lock<mutex> held(lock_);
    while (!ends_) {
        wheel_.expire(tick_now());
        while (hand_out(held)) {}
        sleeps_until_ = wheel_.next_deadline();
        if (sleeps_until_ > wheel_.now()) {
            const clock_tick until = sleeps_until_;
            held.unlock();
            (void)parker_.park_until(until);
            held.lock();
        }
        sleeps_until_ = 0;
    }
}

void timer_service::end() noexcept {
    if (!process_.is_here()) return;
    {
        const lock_guard<mutex> held(lock_);
        ends_ = true;
    }
    parker_.unpark();
    thread_.join();
}

}  // namespace coflux::detail
