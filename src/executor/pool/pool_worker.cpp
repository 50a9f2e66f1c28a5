// The page docs/design/thread_pool.md has the protocol: queues, tick budget, looking for work, parking and waking.
#include "pool_worker.hpp"

#include <cstdio>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

#include "core/detail/thread/registered_thread.hpp"
#include "event/look_portion.hpp"
#include "executor/detail/worker_metrics.hpp"
#include "inspect/timer_metrics.hpp"
#include "inspect/trace/trace_rings.hpp"
#include "os/thread/thread.hpp"
#include "os/thread/thread_number.hpp"

namespace coflux::detail {
namespace {

constexpr clock_tick watch_period = 10'000'000;  // nanoseconds; between the looks of all sleepers while others work
constexpr int rounds_of_a_maker = 4;             // in a row, until what lies beneath its child goes first
constexpr clock_tick between_looks = steal_backoff::lines_cost / 2;  // of a worker without work

void pause_for(clock_tick nanoseconds) noexcept {
    const clock_tick begin = tick_now();
    do {
        cpu_pause();
    } while (tick_now() - begin < nanoseconds);
}

}  // namespace

// --- work ------------------------------------------------------------------------------------------------------------

void pool_worker::serve() noexcept {
    char name[64];
    std::snprintf(name, sizeof name, "%s-%zu", pool_.options_.name.c_str(), position_);
    os::name_this_thread(name);
    if (processor_) os::bind_this_thread(*processor_);
    os::expect_precise_wake_ups();
    worker::set_current(this);
    const registered_thread registered(os::this_thread_number());
    this_thread.timers = &timers_;
    this_thread.events = &pool_.events_;
    this_thread.priorities[0] = pool_.high_.identity();
    this_thread.priorities[1] = pool_.low_.identity();
    this_thread.open_nested_limit = stack_address() - stack_for_awaits;
    // Position-independent code finds this_thread by a call. The optimiser would make it anew at each access.
    thread_state* self = &this_thread;
    asm("" : "+r"(self));
    const traced_thread traced(ring_.get(), name);
    trace_ = ring_.get();
    state_.store(self, memory_order_relaxed);
    thread_number_.store(os::this_thread_number(), memory_order_release);  // pairs with progress()
    busy_.begin(tick_now());
    if (histograms_ != nullptr || trace_ != nullptr) serve_and_observe(*self);
    while (const std::coroutine_handle<> h = next()) {
        count(resumed_);
        self->nested_limit = self->open_nested_limit;
        run(h, *self);
        self->current = nullptr;
    }
    trace_ = nullptr;
    this_thread.nested_limit = this_thread.open_nested_limit = no_room;
    this_thread.priorities[0] = this_thread.priorities[1] = nullptr;
    this_thread.timers = nullptr;
    this_thread.events = nullptr;
    worker::set_current(nullptr);
}

/// Until the pool ends. Measures, traces or both.
void pool_worker::serve_and_observe(thread_state& self) noexcept {
    for (;;) {
        const counts_taken before = counts_taken_so_far();
        const std::coroutine_handle<> h = next();
        if (!h) return;
        count(resumed_);
        self.nested_limit = self.open_nested_limit;
        if (trace_ != nullptr) trace_coroutine(*trace_, trace_kind::runs, h.address(), origin_since(before));
        const clock_tick begun = histograms_ != nullptr ? tick_now() : 0;
        begin_step();
        run(h, self);
        end_step();
        self.current = nullptr;
        if (histograms_ != nullptr) measure(begun, *histograms_);
        if (trace_ != nullptr && queued() == 0) trace_->add(cycles_now(), trace_kind::out_of_work);
    }
}

void pool_worker::measure(clock_tick begun, worker_histograms& to) noexcept {
    const clock_tick now = tick_now();
    to.resumptions.add(now - begun);
    if (to.probe.is_due(now) && !ready_.push(to.probe.begin(now).address())) to.probe.give_up();
}

std::coroutine_handle<> pool_worker::next() noexcept {
    if (tick_budget_ <= 0) [[unlikely]] {
        if (const auto h = begin_round()) return h;
    }
    --tick_budget_;
    if (void* const fork = forks_.pop()) return std::coroutine_handle<>::from_address(fork);
    if (void* const ready = ready_.take()) return std::coroutine_handle<>::from_address(ready);
    if (const auto h = take_shared()) return h;
    return search();
}

/// The worker has nothing of its own.
std::coroutine_handle<> pool_worker::take_shared() noexcept {
    if (const auto high = pool_.high_.queue.take()) return high;
    return take_injected();
}

/// The coroutine that has its turn, if one has.
std::coroutine_handle<> pool_worker::begin_round() noexcept {
    look_at_clock();
    if (rounds_.high_is_due()) {
        if (const auto high = pool_.high_.queue.take()) {
            rounds_.serve_high();
            return high;  // the budget stays used up, so that the next step begins here
        }
    }
    const bool low_first = low_is_due();
    const bool oldest_first = rounds_.oldest_is_due();
    tick_budget_ = rounds_.begin_round();
    look_at_timers();
    (void)look_at_events();
    const std::coroutine_handle<> h = next_in_turn(low_first, oldest_first);
    if (h) --tick_budget_;
    return h;
}

/// True if one of low priority waits, and has waited for long enough.
bool pool_worker::low_is_due() noexcept {
    if (!pool_.low_.queue.empty()) return rounds_.low_is_due();
    rounds_.rest_low();
    return false;
}

bool pool_worker::others_are_due() noexcept {
    look_at_timers();
    (void)look_at_events();
    look_at_clock();
    if (!pool_.injected_.empty() || ready_.size() != 0 || rounds_.oldest_is_due()) return true;
    if (!pool_.high_.queue.empty() || low_is_due()) return true;
    ++round_;
    tick_budget_ = rounds_.begin_round();
    return false;
}

bool pool_worker::budget_exhausted() noexcept {
    if (gives_way() || pool_worker::others_are_due()) return true;
    // The frames of a queue that has outgrown its first room have left the caches since they were pushed.
    if (forks_.size() > first_capacity) forks_.fetch_ahead(tick_budget_);
    --tick_budget_;  // the fork that the parent pops now
    return false;
}

/// The coroutine that awaits has used up rounds in a row on children above the same fork: that one goes first.
bool pool_worker::gives_way() noexcept {
    const std::size_t queued = forks_.size();
    if (queued < 2) return false;
    // One word, because each maker comes here once a round.
    const std::uintptr_t maker = reinterpret_cast<std::uintptr_t>(this_thread.current) + queued;
    if (maker_ != maker) {
        maker_ = maker;
        maker_rounds_ = 1;
        return false;
    }
    if (++maker_rounds_ < rounds_of_a_maker) return false;
    maker_rounds_ = rounds_of_a_maker - 1;  // the next time it needs one more
    // A thief may have taken either.
    void* const child = forks_.pop();
    void* const beneath = forks_.pop();
    if (child != nullptr) forks_.push(child);
    if (beneath != nullptr) forks_.push(beneath);
    return true;
}

void pool_worker::look_at_clock() noexcept {
    const std::uint64_t cycles = cycles_now();
    if (rounds_.wants_a_look(cycles)) rounds_.look(tick_now(), cycles);
}

/// Law 8: the youngest forks come first, so now and then the other sources do: what came from outside, what is ready,
/// what has low priority, the oldest fork. That is rare, because running it first gives up the depth-first order that
/// bounds the memory of a tree.
std::coroutine_handle<> pool_worker::next_in_turn(bool low_first, bool oldest_first) noexcept {
    if (low_first) {
        rounds_.serve_low();
        if (const auto low = pool_.low_.queue.take()) return low;
    } else if (oldest_first) {
        rounds_.serve_oldest();
        if (void* const oldest = forks_.pop_oldest()) return std::coroutine_handle<>::from_address(oldest);
    }
    ++round_;  // only where they are looked at: no source has its turn in the rounds of the oldest alone
    const bool ready_first = round_ % 2 == 0;
    if (ready_first) {
        if (void* const ready = ready_.take()) return std::coroutine_handle<>::from_address(ready);
    }
    if (const auto h = take_injected()) return h;
    void* const ready = ready_first ? nullptr : ready_.take();
    return ready != nullptr ? std::coroutine_handle<>::from_address(ready) : nullptr;
}

std::coroutine_handle<> pool_worker::take_injected() noexcept {
    const std::coroutine_handle<> h = pool_.injected_.take();
    if (!h) return nullptr;
    count(injected_);
    timers_.notify_watch();
    return h;
}

/// Out of work: looks for some for a while, with pauses that leave the victims' lines alone, then parks.
std::coroutine_handle<> pool_worker::search() noexcept {
    const clock_tick ran_out = tick_now();
    const bool served_events = event_steps_.measures();
    busy_.end(ran_out);
    event_steps_.end(ran_out);
    if (std::exchange(stole_, false)) steal_backoff_.theft_ended(ran_out - stolen_at_);
    if (look_at_events()) {
        event_steps_.begin(ran_out, queued());
        if (void* const ready = ready_.take()) {
            busy_.begin(ran_out);
            return std::coroutine_handle<>::from_address(ready);
        }
    }
    for (clock_tick begin = ran_out;; begin = tick_now()) {
        pool_.idle_.begin_search(parker_);
        std::coroutine_handle<> found = nullptr;
        bool from_events = false;
        clock_tick begin_to_steal = begin + steal_backoff_.wait();
        clock_tick now = begin;
        for (;; now = tick_now()) {
            from_events = look_at_events() || ready_.size() != 0;  // found by this look or during the sleep
            if (from_events || (!timers_.nothing_to_look_at() && hand_out_timers(now))) {
                if (void* const ready = ready_.take()) found = std::coroutine_handle<>::from_address(ready);
            }
            if (!found && (now >= begin_to_steal || victim_computes(now))) {
                found = steal();
                if (!found && std::exchange(lost_a_race_, false)) {
                    steal_backoff_.lost_a_race();
                    begin_to_steal = now + steal_backoff_.wait();
                }
            }
            if (!found) found = take_shared();
            if (!found) found = pool_.low_.queue.take();
            if (found || pool_.idle_.ended()) break;
            const clock_tick looks_for = served_events ? 0 : spin_.now();
            if ((now >= begin_to_steal + looks_for || !may_look()) && sleeps_until() > now) break;
            pause_for(between_looks);
            // To a thread that brings work, or to one with work that the system has put behind this one. Before a timer
            // for which the worker stays awake it would come back too late.
            if (sleeps_until() > now) yield_processor();
        }
        // When oversubscribed, forks wake no other worker. Coroutines from outside found a searcher meanwhile, and
        // woke none.
        const bool crowded = pool_.idle_.awake() > pool_.processors_;
        const auto is_more_in_sight = [&] {
            if (crowded) return pool_.has_shared();
            return from_events ? event_steps_.are_worth_a_wake(queued()) || work_in_sight_of_others() : work_in_sight();
        };
        if (!found && looks_out()) pool_.idle_.prepare_lookout(parker_);
        pool_.idle_.end_search(static_cast<bool>(found), is_more_in_sight,
                               stole_ && !crowded ? victim_->forks_.size() : 0);
        if (found) {
            busy_.begin(now);
            event_steps_.begin(now, from_events ? queued() + 1 : 0);
            spin_.work_came(now - ran_out);
            rounds_.restart(now);
            tick_budget_ = rounds_.begin_round();
            timers_.notify_watch();
            return found;
        }
        steal_backoff_.parked();
        sleep(now);
        if (pool_.idle_.ended() && !work_in_sight()) return nullptr;
    }
}

bool pool_worker::work_in_sight() const noexcept {
    return queued() != 0 || work_in_sight_of_others();
}
bool pool_worker::work_in_sight_of_others() const noexcept {
    if (pool_.has_shared()) return true;
    return std::any_of(pool_.workers_.begin(), pool_.workers_.end(),
                       [this](const auto& w) { return w.get() != this && w->queued() != 0; });
}

/// The worker serves itself what it has made ready, and what comes meanwhile: it looks at events between short steps,
/// and wakes another worker for more.
bool pool_worker::is_left_to(const pool_worker& other) const noexcept {
    return pool_.events_.is_looker(other.position_, tick_now()) &&
           !other.event_steps_.are_worth_a_wake(other.ready_.size());
}

/// A coroutine that was pushed a moment ago is most likely taken by its worker; one that a second look finds is not.
bool pool_worker::work_lies() const noexcept {
    if (pool_.has_shared()) return true;
    for (const auto& w : pool_.workers_) {
        const auto moves = [&] { return w->lone_pushes_.load(memory_order_relaxed) + w->ready_.look().taken; };
        const auto queued = [&] { return is_left_to(*w) ? w->forks_.size() : w->queued(); };
        const std::uint64_t before = moves();
        const std::size_t at_first = queued();
        if (at_first > 1) return true;
        if (at_first == 0) continue;
        pause_for(between_looks);
        if (queued() != 0 && moves() == before) return true;
    }
    return false;
}

clock_tick pool_worker::gives_back_at(clock_tick now) const noexcept {
    const std::chrono::nanoseconds kept = pool_.options_.keep_memory;
    if (kept == std::chrono::nanoseconds::max()) return os::parker::never;
    return now + static_cast<clock_tick>(std::max(kept, std::chrono::nanoseconds(0)).count());
}

// --- events ----------------------------------------------------------------------------------------------------------

bool pool_worker::look_at(event_source& s) noexcept {
    const std::size_t before = queued();
    if (s.has_late()) {
        gathers_events_ = true;
        (void)s.try_late();
        gathers_events_ = false;
    }
    const std::uint64_t began = cycles_now();
    if (s.has_pending() && event_pace_.wants_a_look(began, queued() != 0) && pool_.events_.try_drive()) {
        gather(s);
        event_pace_.looked(began, cycles_now());
        pool_.events_.end_drive(position_);
    }
    const std::size_t now = queued();
    const std::size_t found = now > before ? now - before : 0;  // thieves may have taken some
    event_steps_.add(found);
    if (found != 0 && has_sleepers() && event_steps_.are_worth_a_wake(queued())) pool_worker::notify_one();
    return found != 0;
}

/// Pre: this worker is the driver.
void pool_worker::gather(event_source& s) noexcept {
    gathers_events_ = true;
    const std::size_t most = most_in_a_look(ready_.size());
    event_steps_.looked(s.look(most), most);
    ready_.note_woken_elsewhere();
    gathers_events_ = false;
}

/// True if the worker is awake.
bool pool_worker::park_until(clock_tick deadline, pool_events::seat at) noexcept {
    switch (at) {
    case pool_events::seat::poller: {
        event_source& s = *pool_.events_.source();
        return parker_.park_in(s, deadline) || s.has_found();
    }
    case pool_events::seat::guard: {
        const bool woken = parker_.park_in(pool_.events_.alarm(), deadline);
        // Also where it was woken: the alarm may have gone off on the way, and would count as set for ever.
        steps_in_ = pool_.events_.must_step_in();
        return woken || steps_in_;
    }
    case pool_events::seat::none: break;
    }
    return parker_.park_until(deadline);
}

// --- parking ---------------------------------------------------------------------------------------------------------

/// Parks unless there is work after all. The caller looks again.
void pool_worker::sleep(clock_tick now) noexcept {
    event_source* const source = pool_.events_.source();
    const pool_events::seat seat = source == nullptr ? pool_events::seat::none : pool_.events_.take_seat(position_);
    steps_in_ = false;
    if (pool_.idle_.prepare_park(parker_, seat != pool_events::seat::none)) park(seat, now);
    if (seat == pool_events::seat::poller) {
        pool_.events_.leave_poll();
        if (source->has_found()) gather(*source);
        pool_.events_.end_drive(position_);
    } else if (seat == pool_events::seat::guard) {
        pool_.events_.leave_guard(steps_in_);
    }
}

void pool_worker::park(pool_events::seat seat, clock_tick now) noexcept {
    count(sleeps_);
    if (trace_ != nullptr) trace_->add(cycles_now(), trace_kind::parks);
    timers_.prepare_park();
    bool first = true;
    const auto keeps_lookout = [&] {
        if (!std::exchange(first, false)) count(looks_);
        const std::uint64_t pushes = pool_.lone_pushes();
        return std::exchange(pushed_, pushes) != pushes || lookout_ < pool_events::latest_look;
    };
    memory_.begin();
    clock_tick give_back_at = gives_back_at(now);
    bool has_lists = give_back_at != os::parker::never;
    const auto park = [&](idle_workers::rest r) {
        const bool idle = r == idle_workers::rest::for_ever;
        const bool watches = r == idle_workers::rest::while_others_work;
        clock_tick look = os::parker::never;
        if (watches) {
            // A look reads all queues, so they look by turns. relaxed: how many they are decides how long, nothing else
            look = tick_now() + watch_period * (pool_.watching_.fetch_add(1, memory_order_relaxed) + 1);
        } else if (!idle) {
            look = tick_now() + (pool_.idle_.awake() == 0 ? pool_events::latest_look : lookout_);
            lookout_ = std::min(lookout_ * 2, pool_events::latest_look);
        }
        if (idle || has_lists) look = std::min(look, give_back_at);
        const clock_tick due = sleeps_until();
        const bool woken = park_until(std::min(look, due), seat);
        if (watches) pool_.watching_.fetch_sub(1, memory_order_relaxed);
        if (woken || due <= look) return true;
        if (look == give_back_at) {
            has_lists = false;
            if (idle) {
                const bool again = memory_.give_back(true, [this] { return pool_.idle_.ended() || work_in_sight(); });
                memory_.begin();
                give_back_at = again ? gives_back_at(tick_now()) : os::parker::never;
            } else {
                (void)memory_.give_back(false, [until = tick_now() + longest_give_back] { return tick_now() > until; });
            }
        }
        return false;
    };
    // Where other workers have all processors, their work is left to them for a while: one more would only take theirs.
    bool rested = pool_.idle_.awake() < pool_.processors_;
    const auto stays_awake = [this, seat, &rested] {
        const event_source* const s = pool_.events_.source();
        if (s != nullptr) {
            if (s->has_late()) return true;
            if (seat == pool_events::seat::none && pool_.events_.has_free_seat()) return true;
        }
        if (!std::exchange(rested, true)) return pool_.has_shared();
        if (!work_lies()) return false;
        lookout_ = shortest_lookout;
        return true;
    };
    const bool looks_out = this->looks_out();
    // A push of a moment before is in sight then. Where all are parked, none pushes.
    if (!looks_out && !pool_.idle_.all_parked()) pause_for(steal_backoff::lines_cost);
    pool_.idle_.sleep(parker_, looks_out, stays_awake, keeps_lookout, park);
    timers_.end_park();
    pool_.idle_.end_park(parker_);
    note_awake_for_stall_watch();
    if (trace_ != nullptr) trace_->add(cycles_now(), trace_kind::wakes_up);
}

// --- waking ----------------------------------------------------------------------------------------------------------

/// A worker is parked, none looks for work, and this worker has just queued some.
void pool_worker::notify_one() noexcept {
    if (!gathers_events_) notify_of(queued());
}

/// `queued`: of what this worker has queued.
void pool_worker::notify_of(std::size_t queued) noexcept {
    if (queued <= 1 || pool_.idle_.awake() > pool_.processors_) {
        // A lone fork is often popped at once by its maker, and where more workers are awake than there are processors
        // one more only takes another's, unless they block. If it lies there, the look-out finds it.
        count(lone_pushes_);
        if (pool_.idle_.has_lookout()) return;
    }
    count(wakes_);
    pool_.idle_.wake_one();
}

void pool_worker::push_shared(injection_queue& to, std::coroutine_handle<> h) noexcept {
    to.push(h);
    if (has_sleepers()) notify_of(queued() + to.size());
}

// --- metrics ---------------------------------------------------------------------------------------------------------

void pool_worker::add_metrics(metric_snapshot& to) const {
    const worker_counters c = counters();
    const auto labels = worker_metrics::of_worker(position_);
    to.add(worker_metrics::resumed, c.resumed, labels);
    to.add(worker_metrics::stolen, c.stolen, labels);
    to.add(worker_metrics::injected, c.injected, labels);
    to.add(worker_metrics::sleeps, c.sleeps, labels);
    to.add(worker_metrics::wakes, c.wakes, labels);
    to.add(worker_metrics::looks, c.looks, labels);
    to.add(worker_metrics::queue_length, std::uint64_t{queued()}, labels);
    timer_metrics::add(to, timers_.counts(), labels);
    worker_metrics::add_busy(to, position_, busy_);
    if (histograms_ == nullptr) return;
    histograms_->resumptions.add_metrics(to, worker_metrics::resume_times, labels);
    histograms_->probe.latency().add_metrics(to, worker_metrics::latencies, labels);
}

worker_progress pool_worker::progress() const noexcept {
    worker_progress seen;
    seen.position = position_;
    seen.thread = thread_number_.load(memory_order_acquire);  // pairs with serve()
    seen.state = state_.load(memory_order_relaxed);
    seen.is_busy = busy_.is_running();
    seen.marks = {resumed_.load(memory_order_relaxed), glance_at_steps(), ready_.pushed()};
    return seen;
}

void pool_worker::overflow(std::coroutine_handle<> h) noexcept {
    pool_.injected_.push(h);
}

}  // namespace coflux::detail
