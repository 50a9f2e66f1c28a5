// A worker of a thread pool. The page docs/design/thread_pool.md has the protocol: queues, tick budget, looking for
// work, parking and waking, the end.
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timer_queue.hpp>

#include "event/look_pace.hpp"
#include "event_steps.hpp"
#include "executor/detail/busy_clock.hpp"
#include "inspect/stall/worker_progress.hpp"
#include "inspect/trace/trace_rings.hpp"
#include "lone_ready.hpp"
#include "memory/detail/idle_memory.hpp"
#include "os/thread/parker.hpp"
#include "round_clock.hpp"
#include "spin_budget.hpp"
#include "steal_backoff.hpp"
#include "thread_pool.hpp"
#include "time/detail/timer_watch.hpp"
#include "timer_pace.hpp"
#include "victim_order.hpp"
#include "worker_histograms.hpp"
#include "worker_places.hpp"

namespace coflux::detail {

class pool_worker : public worker {
public:
    pool_worker(thread_pool& pool, std::size_t position, const worker_places& places)
        : pool_worker(pool, position, places, pool.idle_.word()) {}
    virtual ~pool_worker() { leave_watch(); }
    pool_worker(const pool_worker&) = delete;
    pool_worker& operator=(const pool_worker&) = delete;

    void serve() noexcept;
    void unpark() noexcept { parker_.unpark(); }
    /// No thread hands out its timers any more.
    void leave_watch() noexcept { timer_watch::shared().forget(timers_); }
    /// It ends: `f(const timer&)` for each of its timers that is still armed.
    template <typename F>
    void take_left(F f) noexcept {
        timers_.take_left(f);
    }
    worker_counters counters() const noexcept {
        return {resumed_.load(memory_order_relaxed),  stolen_.load(memory_order_relaxed),
                injected_.load(memory_order_relaxed), sleeps_.load(memory_order_relaxed),
                wakes_.load(memory_order_relaxed),    looks_.load(memory_order_relaxed)};
    }
    /// Errors: std::bad_alloc.
    void add_metrics(metric_snapshot& to) const;
    /// The view of a look from outside. Any thread.
    worker_progress progress() const noexcept;
    using worker::push_ready;
    /// Queues `h` where all workers take. Called on this worker's thread.
    void push_shared(injection_queue& to, std::coroutine_handle<> h) noexcept;
    /// Changes when this worker pushes or takes a fork, and not when a thief steals one. To other threads a hint.
    std::uint64_t forked() const noexcept { return forks_.size() + stolen_from_.load(memory_order_relaxed); }

protected:
    /// `idle`: what the fast paths ask whether they must notify.
    pool_worker(thread_pool& pool, std::size_t position, const worker_places& places, const atomic<std::uint32_t>& idle)
        : worker(pool.identity(), idle, pool.heavy_fence_, first_capacity, pool.idle_.size()),
          pool_(pool),
          position_(position),
          random_(position * 2654435761U + 1),
          rounds_(static_cast<clock_tick>(
              std::max(pool.options_.oldest_wait, std::chrono::nanoseconds(std::chrono::microseconds(1))).count())),
          spin_(static_cast<clock_tick>(std::max(pool.options_.spin, std::chrono::nanoseconds(0)).count())),
          timers_(&timer_watch::shared()),
          processor_(places.processor_of(position)),
          victims_(places.victims_of(position)),
          histograms_(pool.options_.histograms ? std::make_unique<worker_histograms>() : nullptr),
          ring_(pool.options_.trace == trace_level::off ? 0 : pool.options_.trace_events) {
        timer_watch::shared().watch(timers_);
    }

    // A worker that traces all does more: see traced_worker.hpp.
    virtual void begin_step() noexcept {}
    virtual void end_step() noexcept {}
    /// Changes with each step that this worker's coroutines take. Any thread.
    virtual std::uint64_t glance_at_steps() const noexcept { return glance_at(round_, tick_budget_); }
    COFLUX_GLANCE static std::uint64_t glance_at(const std::uint32_t& round, const std::int32_t& budget) noexcept {
        // [stall.steps]
        return std::uint64_t{round} << 32 | static_cast<std::uint32_t>(budget);
    }
    void notify_one() noexcept override;
    void notify_of_lone() noexcept override { notify_of(ready_.size() <= lone_ready::pair ? 1 : queued()); }
    bool budget_exhausted() noexcept override;
    bool others_are_due() noexcept override;
    [[nodiscard]] bool has_sleepers() const noexcept { return pool_.idle_.has_sleepers(); }
    [[nodiscard]] trace_ring* trace() const noexcept { return trace_; }
    [[nodiscard]] const std::uint32_t& round() const noexcept { return round_; }

private:
    friend class thread_pool;
    static constexpr clock_tick shortest_lookout = pool_events::latest_look / 16;  // doubled with each look in vain
    using counter = atomic<std::uint64_t>;  // written by one thread, read by any: relaxed, pairs with nothing
    static void count(counter& c) noexcept { c.store(c.load(memory_order_relaxed) + 1, memory_order_relaxed); }

    COFLUX_NOINLINE void serve_and_observe(thread_state& self) noexcept;
    void measure(clock_tick begun, worker_histograms& to) noexcept;
    struct counts_taken {
        std::uint64_t stolen;
        std::uint64_t injected;
    };
    counts_taken counts_taken_so_far() const noexcept {
        return {stolen_.load(memory_order_relaxed), injected_.load(memory_order_relaxed)};
    }
    /// Where it has taken what it took last: a trace_origin.
    std::uint64_t origin_since(const counts_taken& before) const noexcept {
        const counts_taken now = counts_taken_so_far();
        if (now.stolen != before.stolen) return trace_origin::victims + victim_->position_;
        return now.injected != before.injected ? trace_origin::from_outside : trace_origin::own_queue;
    }
    std::coroutine_handle<> next() noexcept;
    COFLUX_NOINLINE std::coroutine_handle<> begin_round() noexcept;
    std::coroutine_handle<> next_in_turn(bool low_first, bool oldest_first) noexcept;
    bool low_is_due() noexcept;
    COFLUX_NOINLINE std::coroutine_handle<> take_shared() noexcept;
    std::coroutine_handle<> take_injected() noexcept;
    std::coroutine_handle<> steal() noexcept;
    std::coroutine_handle<> steal_from(pool_worker& victim) noexcept;
    void* steal_fork_from(pool_worker& victim) noexcept;
    bool may_take_ready_of(const pool_worker& victim) noexcept;
    bool victim_computes(clock_tick now) noexcept;
    std::coroutine_handle<> search() noexcept;
    void sleep(clock_tick now) noexcept;
    bool park_until(clock_tick deadline, pool_events::seat at) noexcept;
    void park(pool_events::seat seat, clock_tick now) noexcept;
    /// Completed I/O. True if something became ready.
    bool look_at_events() noexcept {
        event_source* const s = pool_.events_.source();
        return s != nullptr && look_at(*s);
    }
    COFLUX_NOINLINE bool look_at(event_source& s) noexcept;
    void gather(event_source& s) noexcept;
    bool may_look() const noexcept { return spin_budget::may_look(pool_.processors_, pool_.idle_.awake()); }
    /// It becomes the look-out when it parks, if no other worker is: not if it has gone off, and none was pushed since.
    bool looks_out() const noexcept {
        return pool_.size() > 1 && (pool_.lone_pushes() != pushed_ || lookout_ < pool_events::latest_look);
    }
    bool work_in_sight() const noexcept;
    bool work_in_sight_of_others() const noexcept;
    std::size_t queued() const noexcept { return forks_.size() + ready_.size(); }
    /// Something is queued, and its worker does not come to it. Pre: the caller is counted as parked, so that the other
    /// worker counts what it pushes.
    bool work_lies() const noexcept;
    bool is_left_to(const pool_worker& other) const noexcept;
    void look_at_clock() noexcept;
    void look_at_timers() noexcept {
        if (timers_.nothing_to_look_at()) return;
        const std::uint64_t cycles = cycles_now();
        if (!timer_pace_.wants_a_look(timers_.next_deadline(), cycles)) return;
        const clock_tick now = tick_now();
        timer_pace_.looked(now, cycles);
        hand_out_timers(now);
    }
    bool hand_out_timers(clock_tick now) noexcept {
        if (timers_.look(now) == 0) return false;
        ready_.note_woken_elsewhere();
        timers_.notify_watch();
        return true;
    }
    /// When to be awake for the next deadline: earlier by what thread_pool_options::timer_spin says.
    clock_tick sleeps_until() const noexcept {
        const clock_tick due = timers_.next_deadline();
        const auto spin =
            static_cast<clock_tick>(std::max(pool_.options_.timer_spin, std::chrono::nanoseconds(0)).count());
        return due == timing_wheel::never ? due : due - std::min(due, spin);
    }
    /// When a worker that parks at `now` gives back memory.
    clock_tick gives_back_at(clock_tick now) const noexcept;
    void notify_of(std::size_t queued) noexcept;
    bool gives_way() noexcept;
    void overflow(std::coroutine_handle<> h) noexcept override;

    thread_pool& pool_;
    const std::size_t position_;
    std::uint32_t random_;
    std::uint32_t round_ = 0;  // counts rounds, each of one tick budget
    round_clock rounds_;
    std::uintptr_t maker_ = 0;  // that used up the last round with a fork beneath its child, plus what was queued
    int maker_rounds_ = 0;      // of it, in a row
    timer_pace timer_pace_;
    bool stole_ = false;  // what ran last was stolen, at:
    clock_tick stolen_at_ = 0;
    steal_backoff steal_backoff_;
    spin_budget spin_;
    bool gathers_events_ = false;  // what it queues now wakes no worker
    event_steps event_steps_;
    look_pace event_pace_;
    bool steps_in_ = false;     // the guard found that no other worker looks
    bool lost_a_race_ = false;  // the last theft found its coroutine popped
    lone_ready lone_ready_;
    pool_worker* victim_ = nullptr;   // of the last theft; nullptr, too: it goes on with its own
    std::uint64_t forked_there_ = 0;  // its forked() after that, and since:
    clock_tick unchanged_since_ = 0;
    std::uint64_t pushed_ = 0;               // lone pushes of the pool, as its last look-out saw them
    clock_tick lookout_ = shortest_lookout;  // until its next look as the look-out
    busy_clock busy_;
    counter resumed_{0}, stolen_{0}, injected_{0}, sleeps_{0}, wakes_{0}, looks_{0};
    counter lone_pushes_{0};                      // of a coroutine onto empty queues while a worker slept
    alignas(cache_line) counter stolen_from_{0};  // thefts from us; written by the thieves
    atomic<clock_tick> asked_at_{0};              // when a thief has asked us to share; the same
    os::parker parker_;
    idle_memory memory_;
    timer_queue timers_;
    const std::optional<unsigned> processor_;  // that its thread is bound to
    const victim_order victims_;
    const std::unique_ptr<worker_histograms> histograms_;  // nullptr: it measures no times
    const reserved_ring ring_;
    // Written once, when it begins: first `state_`. A reader finds both while the pool is registered.
    atomic<const thread_state*> state_{nullptr};
    atomic<std::uint64_t> thread_number_{0};  // 0: it has not begun; release pairs with progress()
    trace_ring* trace_ = nullptr;             // while it serves; nullptr: it is not traced
};

}  // namespace coflux::detail
