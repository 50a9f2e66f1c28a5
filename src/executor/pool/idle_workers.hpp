// The workers of a pool that are parked, or look for work: which of them is woken when there is some. The page
// docs/design/thread_pool.md has the protocol, and test/model/idle_workers_model.cpp holds it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/thread.hpp>

#include "../../os/thread/parker.hpp"

namespace coflux::detail {

class idle_workers {
public:
    static constexpr std::size_t most = 0xfffe;  // so many are counted

    explicit idle_workers(std::size_t workers) : workers_(workers) {
        COFLUX_VERIFY(workers <= most, "a thread pool of %zu threads: at most %zu are counted", workers, most);
        sleepers_.reserve(workers);
    }

    /// How many workers the pool has.
    [[nodiscard]] std::size_t size() const noexcept { return workers_; }

    /// How many workers are not parked. A hint.
    [[nodiscard]] std::size_t awake() const noexcept {
        return workers_ - sleepers_of(idle_.load(memory_order_relaxed));  // pairs with nothing
    }

    /// No worker is awake. The caller sees all that they queued before they parked.
    [[nodiscard]] bool all_parked() const noexcept {
        // [idle.all_parked]
        return sleepers_of(idle_.load(memory_order_seq_cst)) == workers_;
    }

    /// A worker is parked, and none looks for work. A hint.
    [[nodiscard]] bool has_sleepers() const noexcept {
        return idle_.load(memory_order_relaxed) - 1 < 0xffffU;  // as worker::has_sleepers()
    }

    /// The idle word, for the workers' fast paths: they read it with relaxed order when they push to their own queues.
    [[nodiscard]] const atomic<std::uint32_t>& word() const noexcept { return idle_; }

    /// The pool ends: no worker parks any more. The caller wakes all.
    void end() noexcept {
        // [idle.end.lock]
        const lock_guard<mutex> guard(lock_);
        // [idle.end.store]
        ends_.store(true, memory_order_release);  // pairs with the acquire in ended()
    }
    [[nodiscard]] bool ended() const noexcept {
        // [idle.ended]
        return ends_.load(memory_order_acquire);  // pairs with the store in end(): what came before it is in sight
    }

    /// The worker that was parked at `parker` is awake, and looks for work.
    void begin_search(const os::parker& parker) noexcept {
        // [idle.begin_search.counts]
        idle_.fetch_add(one_searcher, memory_order_seq_cst);
        // [idle.begin_search.lookout]
        end_lookout(parker);  // after that: a pusher finds a searcher or a look-out
    }

    /// A searcher leaves with something found: while it looked, pushers woke no sleeper. If it is the last one and
    /// there may be more work, another worker must look; or if there is more for those that still look: `beside` lie
    /// where it has found something.
    template <typename Work>
    void end_search(bool found, Work work_in_sight, std::size_t beside = 0) noexcept {
        // [idle.end_search.counts]
        const std::uint32_t before = idle_.fetch_sub(one_searcher, memory_order_seq_cst);
        if (!found || sleepers_of(before) == 0) return;
        // [idle.end_search.wakes]
        if (beside >= searchers_of(before) || (searchers_of(before) == 1 && work_in_sight())) wake_one();
    }

    /// A thread from outside has pushed, seq_cst, and no other thread can take that yet. True: it calls wake_one(), and
    /// then leave(). The pushed coroutine may run, end, and let the pool's owner destroy the pool; the destructor waits
    /// for the threads that have not left.
    [[nodiscard]] bool must_wake() noexcept {
        // seq_cst: after the push; pairs with the fetch_add in prepare_park() and the fetch_sub in end_search()
        // [idle.must_wake]
        const std::uint32_t idle = idle_.load(memory_order_seq_cst);
        if (sleepers_of(idle) == 0 || searchers_of(idle) != 0) return false;
        entered_.fetch_add(1, memory_order_relaxed);  // the queue's lock makes it known
        return true;
    }
    void leave() noexcept {
        // [idle.leave]
        entered_.fetch_sub(1, memory_order_release);  // pairs with wait_for_leavers(): our last access
    }
    void wait_for_leavers() const noexcept {
        // [idle.wait_for_leavers]
        while (entered_.load(memory_order_acquire) != 0) cpu_pause();  // pairs with leave()
    }

    void wake_one() noexcept {
        os::parker* sleeper = nullptr;
        {
            const lock_guard<mutex> guard(lock_);
            if (sleepers_.empty()) return;
            sleeper = sleepers_.back();
            sleepers_.pop_back();
            // [idle.wake_one.count]
            idle_.fetch_sub(one_sleeper, memory_order_seq_cst);
            // On its way the sleeper looks for work: no other worker need be woken for a lone coroutine. Under the
            // lock, which the sleeper takes before it looks.
            (void)try_begin_lookout(*sleeper);
        }
        sleeper->unpark();
    }

    /// The worker is about to park at `parker`. False if the pool ends: then it must not. `last`: it is woken for work
    /// when all others are awake.
    bool prepare_park(os::parker& parker, bool last = false) noexcept {
        // [idle.prepare_park.lock]
        const lock_guard<mutex> guard(lock_);
        // [idle.prepare_park.ends]
        if (ends_.load(memory_order_relaxed)) return false;  // under the lock, as the store
        sleepers_.insert(last ? sleepers_.begin() : sleepers_.end(), &parker);
        // [idle.prepare_park.count]
        idle_.fetch_add(one_sleeper, memory_order_seq_cst);  // before the look for work; pairs with must_wake()
        return true;
    }

    /// True if a sleeper looks for work before long, or has been woken and has not looked yet. A worker that queues
    /// what it will most likely pop itself wakes no sleeper then.
    [[nodiscard]] bool has_lookout() const noexcept {
        // seq_cst: after the pusher woke up; pairs with end_lookout()
        // [idle.has_lookout]
        return lookout_.load(memory_order_seq_cst) != nullptr;
    }

    /// The worker at `parker` is about to leave its search and to sleep: it is the look-out, if no other worker is. A
    /// pusher finds a searcher or a look-out, and wakes none between the two.
    void prepare_lookout(const os::parker& parker) noexcept { (void)try_begin_lookout(parker); }

    /// How long a sleeper is parked, if it is not woken, before it looks for work.
    enum class rest : std::uint8_t {
        moment,  ///< it is the look-out, or was
        while_others_work,
        for_ever  ///< all are parked: only a push from outside can come, which misses no sleeper
    };

    /// After prepare_park(): parks until `park(rest)` says that it was woken, or `stays_awake()`, which looks for work,
    /// says that there is some. If it `looks_out`, and no other worker is the look-out, it is as long as
    /// `keeps_lookout()`.
    template <typename StaysAwake, typename KeepsLookout, typename Park>
    void sleep(const os::parker& parker, bool looks_out, StaysAwake stays_awake, KeepsLookout keeps_lookout,
               Park park) noexcept {
        bool out = looks_out && try_begin_lookout(parker);
        // [idle.sleep.loop]
        for (bool woken = false; !woken && !stays_awake();) {
            rest until = out ? rest::moment : rest::while_others_work;
            // [idle.sleep.lookout]
            if (out && !keeps_lookout()) {
                end_lookout(parker);
                out = false;  // what was queued a moment before is seen by one more look
            }
            // After the look-out is gone: a worker that wakes up after this, and queues work, wakes a sleeper.
            // [idle.sleep.rests]
            if (!out && all_parked()) until = rest::for_ever;
            woken = park(until);
        }
    }

    /// Takes the worker off the list, if no other thread has: a worker that is awake is not listed. An old token may
    /// have ended the park. A token that is on its way ends the next park() at once, which is harmless.
    void end_park(os::parker& parker) noexcept {
        const lock_guard<mutex> guard(lock_);
        const auto at = std::find(sleepers_.begin(), sleepers_.end(), &parker);
        // [idle.end_park.listed]
        if (at == sleepers_.end()) return;
        sleepers_.erase(at);
        // seq_cst: before it queues work; pairs with all_parked() after the look-out has gone
        // [idle.end_park.count]
        idle_.fetch_sub(one_sleeper, memory_order_seq_cst);
    }

private:
    bool try_begin_lookout(const os::parker& parker) noexcept {
        const os::parker* none = nullptr;
        // relaxed: what it was made for is seen by a look, or is late by a moment
        return lookout_.compare_exchange_strong(none, &parker, memory_order_relaxed, memory_order_relaxed) ||
               none == &parker;
    }
    void end_lookout(const os::parker& parker) noexcept {
        // seq_cst: before the look at the idle word in sleep(); pairs with has_lookout()
        // [idle.end_lookout]
        if (lookout_.load(memory_order_relaxed) == &parker) lookout_.store(nullptr, memory_order_seq_cst);
    }
    static constexpr std::uint32_t one_sleeper = 1;
    static constexpr std::uint32_t one_searcher = 0x10000;
    static constexpr std::uint32_t sleepers_of(std::uint32_t idle) { return idle & 0xffffU; }
    static constexpr std::uint32_t searchers_of(std::uint32_t idle) { return idle >> 16; }

    // Low half: parked workers (sleepers); high half: workers looking for work. seq_cst on the way to park() and after
    // an injection (Dekker: either the sleeper sees the work or the injector sees the sleeper); relaxed where a worker
    // pushes to its own queue, which it will serve itself.
    alignas(cache_line) atomic<std::uint32_t> idle_{0};
    atomic<std::uint32_t> entered_{0};  // threads from outside, between must_wake() and leave()
    // Where the look-out is parked, or is on its way from; nullptr: there is none. Set by its worker, or by the thread
    // that wakes it; reset by its worker.
    atomic<const os::parker*> lookout_{nullptr};
    const std::size_t workers_;
    atomic<bool> ends_{false};  // set once, under lock_
    alignas(cache_line) mutex lock_;
    std::vector<os::parker*> sleepers_;  // under lock_; the last to park is the first to be woken: its caches are warm
};

}  // namespace coflux::detail
