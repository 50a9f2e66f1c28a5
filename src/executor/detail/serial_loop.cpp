// The page docs/design/serial_executors.md has the protocol.
#include "serial_loop.hpp"

#include <algorithm>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/stack.hpp>

#include "core/detail/scope/left_behind.hpp"
#include "event/look_portion.hpp"
#include "inspect/timer_metrics.hpp"
#include "os/thread/thread.hpp"
#include "time/detail/timer_watch.hpp"
#include "worker_metrics.hpp"

namespace coflux::detail {
namespace {

constexpr unsigned most_pauses = 8;           // between two looks, which are at lines of its own
constexpr unsigned looks_between_yields = 8;  // some 3 us

clock_tick ticks(std::chrono::nanoseconds t) noexcept {
    return static_cast<clock_tick>(std::max(t, std::chrono::nanoseconds(0)).count());
}

}  // namespace

serial_loop::serial_loop(const char* what, std::chrono::nanoseconds spin, std::chrono::nanoseconds timer_spin,
                         std::chrono::nanoseconds keep_memory)
    : serial_worker(nullptr),
      what_(what),
      timer_spin_(ticks(timer_spin)),
      keep_memory_(keep_memory == std::chrono::nanoseconds::max() ? timing_wheel::never : ticks(keep_memory)),
      processors_(os::usable_processors()),
      spin_(ticks(spin)),
      timers_(&timer_watch::shared(), door_.identity()) {
    executor_ = door_.identity();
    timer_watch::shared().watch(timers_);
}

serial_loop::~serial_loop() {
    if (process_.is_here()) {
        timer_watch::shared().forget(timers_);  // before close(), if that was not called
    } else {
        timers_.abandon();
    }
}

void serial_loop::close() noexcept {
    timer_watch::shared().forget(timers_);
    door_.close();
    wait_for_rousers();
    left_behind asleep;
    if (source() != nullptr) source()->add_left(asleep);
    timers_.take_left([&asleep](const timer& t) { asleep.add(t.kind().whose(t), t.kind().what); });
    COFLUX_VERIFY(
        asleep.count() == 0,
        "%s ends with %zu coroutine%s on it (listed above), first %s: it outlives what runs in the environments "
        "that name it",
        what_, asleep.count(), asleep.count() == 1 ? "" : "s", asleep.first());
    COFLUX_VERIFY(!has_work(),
                  "%s ends with a coroutine queued on it: it outlives what runs in the environments that name it",
                  what_);
}

void serial_loop::execute(std::coroutine_handle<> h) noexcept {
    if (worker* const w = of_thread_for(identity()); w != nullptr) return w->push_ready(h);
    COFLUX_VERIFY(process_.is_here(),
                  "%s that was made before fork() is used in the child, where its coroutines are not: make one there",
                  what_);
    if (!post(h, true)) return;
    wake();
    roused();
}

serial_loop::on_this_thread::on_this_thread(serial_loop& loop) noexcept : loop_(loop), mounted_(loop, this_thread) {
    t_.timers = &loop.timers_;
    t_.events = &loop;
    t_.open_nested_limit = stack_address() - stack_for_awaits;
    loop.waited_until_ = 0;  // it may have stood still since
    loop.attend();
}

serial_loop::on_this_thread::~on_this_thread() {
    if (loop_.timers_.has_deferred()) loop_.timers_.arm_deferred(tick_now());
    t_.timers = nullptr;
    t_.events = nullptr;
}

void serial_loop::begin_turn() noexcept {
    (void)collect();
    // After a wait: the time that it ended at. Since then nothing has run.
    const clock_tick waited_until = std::exchange(waited_until_, 0);
    cycle_count turn;
    (void)(waited_until != 0 ? look_at_timers(waited_until) : look_at_timers(turn));
    (void)look_at_events(turn);
    arm_deferred(turn);
    if (has_work()) timers_.notify_watch();
}

bool serial_loop::must_give_way() noexcept {
    cycle_count present;
    arm_deferred(present);  // first: what it arms may be due
    return has_arrived() || look_at_timers(present) || look_at_events(present);
}

bool serial_loop::look_at_timers(cycle_count& present) noexcept {
    if (timers_.nothing_to_look_at()) return false;
    const std::uint64_t cycles = present.get();
    if (!timer_pace_.wants_a_look(timers_.next_deadline(), cycles)) return false;
    const clock_tick now = tick_now();
    timer_pace_.looked(now, cycles);
    const bool found = timers_.look(now) != 0;
    present = {};
    return found;
}
bool serial_loop::look_at_timers(clock_tick now) noexcept {
    return !timers_.nothing_to_look_at() && timers_.look(now) != 0;
}

bool serial_loop::look_at_events(cycle_count& present) noexcept {
    event_source* const s = source();
    if (s == nullptr || !(s->has_pending() || s->has_found())) return false;
    const std::uint64_t began = present.get();
    if (!event_pace_.wants_a_look(began, has_work())) return false;
    const std::size_t found = s->look(most_in_a_look(ready_.size()));
    event_pace_.looked(began, cycles_now());
    return found != 0;
}

/// Limits of what waits: once some work has been done since. Most of these waits are over by then.
void serial_loop::arm_deferred(cycle_count& present) noexcept {
    // 100 us and 1 ms at 3 GHz. Work that a shorter turn has queued is mostly over in the next one.
    constexpr std::uint64_t longest = 300'000;
    constexpr std::uint64_t long_turn = 3'000'000;
    const bool has_some = timers_.has_deferred();
    const std::uint64_t now = has_some ? present.get() : present.known();
    const std::uint64_t before = std::exchange(last_turn_, now);
    if (!has_some) {
        deferred_since_ = 0;
        return;
    }
    if (deferred_since_ == 0) deferred_since_ = before != 0 && now - before > long_turn ? before : now;
    if (now - deferred_since_ <= longest) return;
    deferred_since_ = 0;
    timers_.arm_deferred(tick_now());
}

clock_tick serial_loop::sleeps_until() const noexcept {
    const clock_tick due = timers_.next_deadline();
    return due == timing_wheel::never ? due : due - std::min(due, timer_spin_);
}

void serial_loop::wait(clock_tick deadline) noexcept {
    const clock_tick ran_out = tick_now();
    busy_.end(ran_out);
    clock_tick now = ran_out;
    unsigned looks = 0;
    for (unsigned pauses = 4; now < deadline; pauses = std::min(pauses * 2, most_pauses)) {
        cycle_count present;
        if (look_at_timers(now) || look_at_events(present) || has_something()) break;
        if (timers_.has_deferred()) timers_.arm_deferred(now);
        const bool may_look = spin_budget::may_look(processors_, awake());
        if ((now >= ran_out + spin_.now() || !may_look) && sleeps_until() > now) {
            park(deadline);
            now = tick_now();
            break;
        }
        for (unsigned i = 0; i < pauses; ++i) cpu_pause();
        // To a thread that brings work. Before a timer for which the loop stays awake it would come back too late.
        if (++looks % looks_between_yields == 0 && sleeps_until() > now) yield_processor();
        now = tick_now();
    }
    busy_.begin(now);
    spin_.work_came(now - ran_out);
    waited_until_ = now;
}

/// True if it was woken.
bool serial_loop::sleep_in_place(clock_tick until) noexcept {
    event_source* const s = source();
    return s != nullptr && s->has_pending() ? parker_.park_in(*s, until) : parker_.park_until(until);
}

void serial_loop::park(clock_tick until) noexcept {
    if (has_work() || !rest()) return;
    if (begin_to_rest()) {
        sleeps_.store(sleeps_.load(memory_order_relaxed) + 1, memory_order_relaxed);
        const clock_tick gives_back_at = keep_memory_ == timing_wheel::never ? keep_memory_ : tick_now() + keep_memory_;
        memory_.begin();
        timers_.prepare_park();
        const clock_tick wakes_at = std::min(until, sleeps_until());
        if (!sleep_in_place(std::min(gives_back_at, wakes_at)) && gives_back_at < wakes_at &&
            tick_now() >= gives_back_at) {
            (void)memory_.give_back(false, [until = tick_now() + longest_give_back] { return tick_now() > until; });
            (void)sleep_in_place(wakes_at);
        }
        timers_.end_park();
    }
    end_rest();
    attend();
}

void serial_loop::add_metrics(metric_snapshot& to) {
    const auto labels = worker_metrics::of_worker(0);
    to.add(worker_metrics::workers, std::uint64_t{1});
    to.add(worker_metrics::shared_queue_length, std::uint64_t{posted()}, {{"queue", "outside"}});
    to.add(worker_metrics::resumed, resumed_.load(memory_order_relaxed), labels);
    to.add(worker_metrics::sleeps, sleeps_.load(memory_order_relaxed), labels);
    to.add(worker_metrics::queue_length, std::uint64_t{forks_.size() + ready_.size()}, labels);
    timer_metrics::add(to, timers_.counts(), labels);
    if (has_one_thread()) worker_metrics::add_busy(to, 0, busy_);
}

}  // namespace coflux::detail
