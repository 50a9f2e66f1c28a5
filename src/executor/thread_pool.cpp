// The page docs/design/thread_pool.md has the protocol: queues, turns, looking for work, sleeping and waking.
#include <coflux/executor/thread_pool.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/core/thread_state.hpp>
#include <coflux/core/transfer.hpp>
#include <coflux/core/worker.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/deadline.hpp>  // deadlines act wherever there is a pool
#include <coflux/time/timer_queue.hpp>

#include "../os/parker.hpp"
#include "../os/thread.hpp"
#include "idle_workers.hpp"
#include "injection_queue.hpp"

namespace coflux::detail {
namespace {

constexpr std::int32_t turns_per_round =
    61;  // resumptions between two looks at what came from outside and what is ready
constexpr std::uint32_t rounds_per_oldest =
    1U << 16;  // rounds between two looks at the oldest fork: rare, because running it first
               // gives up the depth-first order that bounds the memory of a tree
constexpr clock_tick watch_period = 10'000'000;        // nanoseconds
constexpr std::chrono::nanoseconds short_theft{1000};  // what was stolen took no longer than moving it between cores
constexpr std::chrono::nanoseconds first_restraint{
    2000};  // how long a thief then leaves the others alone; doubled each time
constexpr std::chrono::nanoseconds longest_restraint{32000};

}  // namespace

class pool_worker;

class thread_pool {
public:
    explicit thread_pool(thread_pool_options options);
    ~thread_pool();

    void execute(std::coroutine_handle<> h) noexcept;

    std::size_t size() const noexcept { return workers_.size(); }
    std::vector<worker_counters> counters() const;

private:
    friend class pool_worker;

    thread_pool_options options_;
    idle_workers idle_;
    alignas(cache_line) injection_queue injected_;
    std::vector<std::unique_ptr<pool_worker>> workers_;
    std::vector<thread> threads_;
};

class pool_worker final : public worker {
public:
    pool_worker(thread_pool& pool, std::size_t position)
        : worker(&pool, pool.idle_.word()),
          pool_(pool),
          position_(position),
          random_(position * 2654435761U + 1),
          timers_(&pool, this, [](void* w) noexcept { static_cast<pool_worker*>(w)->unpark(); }) {}

    void serve() noexcept;
    void unpark() noexcept { parker_.unpark(); }
    worker_counters counters() const noexcept {
        return {resumed_.load(memory_order_relaxed), stolen_.load(memory_order_relaxed),
                injected_.load(memory_order_relaxed), sleeps_.load(memory_order_relaxed),
                wakes_.load(memory_order_relaxed)};
    }
    using worker::push_ready;

private:
    friend class thread_pool;
    using counter = atomic<std::uint64_t>;  // written by one thread, read by any: relaxed, pairs with nothing
    static void count(counter& c) noexcept { c.store(c.load(memory_order_relaxed) + 1, memory_order_relaxed); }

    std::coroutine_handle<> next() noexcept;
    std::coroutine_handle<> next_in_turn() noexcept;
    std::coroutine_handle<> take_injected() noexcept;
    std::coroutine_handle<> steal() noexcept;
    std::coroutine_handle<> search() noexcept;
    void sleep() noexcept;
    bool work_in_sight() const noexcept;
    void look_at_timers() noexcept {
        if (!timers_.nothing_to_look_at()) timers_.look(tick_now());
    }
    /// When to be awake for the next deadline: earlier by what thread_pool_options::timer_spin says.
    clock_tick sleeps_until() const noexcept {
        const clock_tick due = timers_.next_deadline();
        const auto spin =
            static_cast<clock_tick>(std::max(pool_.options_.timer_spin, std::chrono::nanoseconds(0)).count());
        return due == timing_wheel::never ? due : due - std::min(due, spin);
    }
    void call_for_help() noexcept override;
    bool others_wait() noexcept override;
    void overflow(std::coroutine_handle<> h) noexcept override;

    thread_pool& pool_;
    const std::size_t position_;
    std::uint32_t random_;
    std::uint32_t round_ = 0;        // counts rounds of turns
    std::uint32_t lone_pushes_ = 0;  // pushes of a lone fork while somebody slept
    std::uint32_t lone_mask_ = 0;    // wake at every (mask + 1)-th of them
    std::uint64_t robbed_seen_ = 0;  // robbed_ at the last wake-up for a lone fork
    bool stole_ = false;             // what ran last was stolen, at:
    std::chrono::steady_clock::time_point stolen_at_{};
    std::chrono::nanoseconds restraint_{0};  // how long to leave the others alone before the next theft
    counter resumed_{0}, stolen_{0}, injected_{0}, sleeps_{0}, wakes_{0};
    alignas(cache_line) counter robbed_{0};  // times others took from us; written by thieves
    os::parker parker_;
    timer_queue timers_;  // last: its destructor waits for those who may unpark us
};

// --- work
// -------------------------------------------------------------------------------------------------------------------

void pool_worker::serve() noexcept {
    char name[64];
    std::snprintf(name, sizeof name, "%s-%zu", pool_.options_.name.c_str(), position_);
    os::name_this_thread(name);
    if (pool_.options_.pin) os::pin_this_thread(position_);
    os::expect_precise_wake_ups();
    worker::stand_for(this);
    this_thread.timers = &timers_;
    this_thread.room = stack_address() - stack_for_awaits;
    while (const std::coroutine_handle<> h = next()) {
        count(resumed_);
        this_thread.room_on_top = this_thread.room;
        run(h);
        this_thread.current = nullptr;
    }
    this_thread.room_on_top = this_thread.room = no_stack;
    this_thread.timers = nullptr;
    worker::stand_for(nullptr);
}

std::coroutine_handle<> pool_worker::next() noexcept {
    if (turns_ <= 0) [[unlikely]] {
        turns_ = turns_per_round;
        look_at_timers();
        if (const auto h = next_in_turn()) return h;
    }
    --turns_;
    if (void* const fork = forks_.pop()) return std::coroutine_handle<>::from_address(fork);
    if (void* const ready = ready_.take()) return std::coroutine_handle<>::from_address(ready);
    if (const auto h = take_injected()) return h;
    return search();
}

bool pool_worker::others_wait() noexcept {
    look_at_timers();
    if (!pool_.injected_.empty() || ready_.size() != 0 || (round_ + 1) % rounds_per_oldest == 0) return true;
    ++round_;
    turns_ = turns_per_round;
    forks_.fetch_ahead(turns_per_round);
    return false;
}

/// Law 8: the youngest forks come first, so now and then the others do: what came from outside, what is ready, the
/// oldest fork.
std::coroutine_handle<> pool_worker::next_in_turn() noexcept {
    if (++round_ % rounds_per_oldest == 0) {
        if (void* const oldest = forks_.steal()) return std::coroutine_handle<>::from_address(oldest);
    }
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
    if (h) count(injected_);
    return h;
}

std::coroutine_handle<> pool_worker::steal() noexcept {
    const std::size_t n = pool_.workers_.size();
    random_ = random_ * 1664525U + 1013904223U;
    for (std::size_t i = 0, at = random_ % n; i < n; ++i, at = at + 1 == n ? 0 : at + 1) {
        pool_worker& victim = *pool_.workers_[at];
        if (&victim == this) continue;
        void* taken = victim.forks_.size() != 0 ? victim.forks_.steal() : nullptr;
        if (taken == nullptr && victim.ready_.size() != 0) taken = victim.ready_.take();
        if (taken == nullptr) continue;
        victim.robbed_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: a hint for call_for_help()
        count(stolen_);
        return std::coroutine_handle<>::from_address(taken);
    }
    return nullptr;
}

/// Out of work: looks for some for a while, with growing pauses that leave the victims' lines alone, then sleeps.
std::coroutine_handle<> pool_worker::search() noexcept {
    using clock = std::chrono::steady_clock;
    for (;;) {
        pool_.idle_.begin_search();
        std::coroutine_handle<> found = nullptr;
        const auto begin = clock::now();
        // Stealing moves some five cache lines between cores. A victim whose forks take less than that is faster
        // left alone.
        if (stole_)
            restraint_ = begin - stolen_at_ < short_theft
                             ? std::clamp(restraint_ * 2, first_restraint, longest_restraint)
                             : std::chrono::nanoseconds(0);
        stole_ = false;
        for (unsigned pauses = 4;; pauses = std::min(pauses * 2, 64U)) {
            const auto now = clock::now();
            if (!timers_.nothing_to_look_at() && timers_.look(tick_of(now)) != 0) {
                if (void* const ready = ready_.take()) found = std::coroutine_handle<>::from_address(ready);
            }
            if (!found && now - begin >= restraint_) {
                found = steal();
                if (found) {
                    stole_ = true;
                    stolen_at_ = now;
                }
            }
            if (!found) found = take_injected();
            if (found || pool_.idle_.ended()) break;
            if (now - begin >= restraint_ + pool_.options_.spin && sleeps_until() > tick_of(now)) break;
            for (unsigned i = 0; i < pauses; ++i) cpu_pause();
        }
        pool_.idle_.end_search(static_cast<bool>(found), [this] { return work_in_sight(); });
        if (found) return found;
        restraint_ = std::chrono::nanoseconds(0);
        sleep();
        if (pool_.idle_.ended() && !work_in_sight()) return nullptr;
    }
}

bool pool_worker::work_in_sight() const noexcept {
    if (!pool_.injected_.empty()) return true;
    return std::any_of(pool_.workers_.begin(), pool_.workers_.end(),
                       [](const auto& w) { return w->forks_.size() != 0 || w->ready_.size() != 0; });
}

/// Sleeps unless there is work after all. The caller looks again.
void pool_worker::sleep() noexcept {
    if (!pool_.idle_.falls_asleep(parker_)) return;
    count(sleeps_);
    const auto stays_awake = [this] { return timers_.falls_asleep() || work_in_sight(); };
    const auto park = [this](bool all_sleep) {
        // While others work, look again now and then: a worker that pushes to its own queue uses no fence and may
        // have missed us, and may
        // have been told not to wake us for a lone fork. When all sleep, nobody can push but from outside, which
        // never misses us.
        const clock_tick watch = all_sleep ? os::parker::never : tick_now() + watch_period;
        const clock_tick due = sleeps_until();
        return parker_.park_until(std::min(watch, due)) || due <= watch;
    };
    pool_.idle_.sleep(stays_awake, park);
    timers_.wakes_up();
    pool_.idle_.wakes_up(parker_);
    lone_mask_ = 0;
}

// --- waking
// -----------------------------------------------------------------------------------------------------------------

/// Somebody sleeps, nobody looks for work, and this worker has just queued some.
void pool_worker::call_for_help() noexcept {
    if (forks_.size() + ready_.size() <= 1) {
        // A lone fork is often taken back at once by its maker. If the last wake-up for one was in vain, ask ever
        // more rarely; the sleeper
        // that was woken in vain looks again every watch_period, so a fork that stays waits no longer than that.
        if ((++lone_pushes_ & lone_mask_) != 0) return;
        const std::uint64_t robbed = robbed_.load(memory_order_relaxed);
        lone_mask_ = robbed == robbed_seen_ ? std::min((lone_mask_ << 1) | 1U, 0xffffU) : 0;
        robbed_seen_ = robbed;
    }
    count(wakes_);
    pool_.idle_.wake_one();
}

void pool_worker::overflow(std::coroutine_handle<> h) noexcept {
    pool_.injected_.push(h);
}

void thread_pool::execute(std::coroutine_handle<> h) noexcept {
    if (worker* const w = this_thread.queues; w != nullptr && w->executor() == this) return w->push_ready(h);
    idle_.enter();
    injected_.push(h);
    idle_.work_came();
    idle_.leave();
}

// --- life
// -------------------------------------------------------------------------------------------------------------------

thread_pool::thread_pool(thread_pool_options options)
    : options_(std::move(options)),
      idle_(options_.threads != 0 ? options_.threads : os::usable_processors()) {
    const std::size_t n = idle_.size();
    workers_.reserve(n);
    threads_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) workers_.push_back(std::make_unique<pool_worker>(*this, i));
    try {
        for (std::size_t i = 0; i < n; ++i) threads_.emplace_back([w = workers_[i].get()] { w->serve(); });
    } catch (...) {
        idle_.end();
        for (std::size_t i = 0; i < threads_.size(); ++i) workers_[i]->unpark();
        for (thread& t : threads_) t.join();
        throw;
    }
}

thread_pool::~thread_pool() {
    COFLUX_VERIFY(this_thread.queues == nullptr || this_thread.queues->executor() != this,
                  "a thread pool is destroyed on one of its own threads");
    idle_.end();
    for (const auto& w : workers_) w->unpark();
    for (thread& t : threads_) t.join();
    idle_.wait_for_leavers();
}

std::vector<worker_counters> thread_pool::counters() const {
    std::vector<worker_counters> all;
    all.reserve(workers_.size());
    for (const auto& w : workers_) all.push_back(w->counters());
    return all;
}

}  // namespace coflux::detail

namespace coflux {

thread_pool_executor::thread_pool_executor(std::size_t threads)
    : thread_pool_executor(thread_pool_options{.threads = threads}) {}
thread_pool_executor::thread_pool_executor(thread_pool_options options)
    : pool_(std::make_unique<detail::thread_pool>(std::move(options))) {}
thread_pool_executor::thread_pool_executor(thread_pool_executor&&) noexcept = default;
thread_pool_executor& thread_pool_executor::operator=(thread_pool_executor&&) noexcept = default;
thread_pool_executor::~thread_pool_executor() = default;

void thread_pool_executor::execute(std::coroutine_handle<> h) noexcept {
    pool_->execute(h);
}
void thread_pool_executor::execute_on(void* pool, std::coroutine_handle<> h) noexcept {
    static_cast<detail::thread_pool*>(pool)->execute(h);
}
void* thread_pool_executor::identity() const noexcept {
    return pool_.get();
}
std::size_t thread_pool_executor::size() const noexcept {
    return pool_->size();
}
std::vector<worker_counters> thread_pool_executor::counters() const {
    return pool_->counters();
}

}  // namespace coflux
