// A serial worker with timers that waits for its work: what a thread of its own and a loop that its user drives have in
// common. The page docs/design/serial_executors.md has the protocol.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/executor/worker.hpp>
#include <coflux/time/detail/timer_queue.hpp>

#include "busy_clock.hpp"
#include "event/event_source.hpp"
#include "event/look_pace.hpp"
#include "executor/pool/spin_budget.hpp"
#include "executor/pool/timer_pace.hpp"
#include "executor_door.hpp"
#include "inspect/metric_source.hpp"
#include "memory/detail/idle_memory.hpp"
#include "os/process/process.hpp"
#include "os/thread/parker.hpp"
#include "serial_worker.hpp"

namespace coflux::detail {

class serial_loop : protected serial_worker, public event_host {
public:
    serial_loop(const serial_loop&) = delete;
    serial_loop& operator=(const serial_loop&) = delete;

    void execute(std::coroutine_handle<> h) noexcept;
    [[nodiscard]] void* identity() const noexcept { return door_.identity(); }
    using door = executor_door<serial_loop>;

    /// Errors: std::bad_alloc.
    void add_metrics(metric_snapshot& to);

    /// For messages: "a worker".
    [[nodiscard]] const char* what() const noexcept { return what_; }

protected:
    /// Looks for work for `spin`, and so on: as in worker_options.
    serial_loop(const char* what, std::chrono::nanoseconds spin, std::chrono::nanoseconds timer_spin,
                std::chrono::nanoseconds keep_memory);
    ~serial_loop();

    /// While it lives, the calling thread runs this loop.
    class on_this_thread {
    public:
        explicit on_this_thread(serial_loop& loop) noexcept;
        ~on_this_thread();
        on_this_thread(const on_this_thread&) = delete;
        on_this_thread& operator=(const on_this_thread&) = delete;

    private:
        thread_state& t_ = this_thread;
        serial_loop& loop_;
        const mount mounted_;
    };

    // Other work of a loop; none here. On its thread:
    /// Serves what has arrived. True if that was something. Where no coroutine runs.
    virtual bool collect() noexcept { return false; }
    /// Something has arrived.
    [[nodiscard]] virtual bool has_arrived() noexcept { return false; }
    /// It would park. True: nothing has arrived, and from now on a sender calls wake().
    virtual bool begin_to_rest() noexcept { return true; }
    virtual void end_rest() noexcept {}
    /// How many threads look for work, this one among them, or run, that want a processor each.
    [[nodiscard]] virtual std::size_t awake() const noexcept { return 1; }
    bool must_give_way() noexcept override;
    /// Any thread: wakes the loop, or makes its next wait short.
    virtual void wake() noexcept { parker_.unpark(); }

    // The thread that runs it:
    /// Queues what has arrived, and what is due.
    void begin_turn() noexcept;
    [[nodiscard]] bool has_something() noexcept { return collect() || has_work(); }
    /// Waits until something is queued, until wake(), or until `deadline`, or shorter; looks for a while, then parks.
    void wait(clock_tick deadline) noexcept;
    [[nodiscard]] clock_tick next_deadline() const noexcept { return timers_.next_deadline(); }
    /// It has resumed `n` coroutines since it was told last.
    void count_resumed(std::size_t n) noexcept {
        resumed_.store(resumed_.load(memory_order_relaxed) + n, memory_order_relaxed);
    }

    // Counters: written by the thread that runs it, read by any: relaxed, pairs with nothing.
    busy_clock busy_;  // where the thread is its own
    metric_source metrics_;

    /// No thread runs it any more, and metrics_ was left: what still waits on it is a checked error.
    void close() noexcept;
    [[nodiscard]] bool is_in_its_process() const noexcept { return process_.is_here(); }

private:
    /// cycles_now(), counted once, when it is first asked for.
    class cycle_count {
    public:
        std::uint64_t get() noexcept { return count_ != 0 ? count_ : (count_ = cycles_now()); }
        /// 0: it was not asked for.
        [[nodiscard]] std::uint64_t known() const noexcept { return count_; }

    private:
        std::uint64_t count_ = 0;
    };
    bool look_at_timers(cycle_count& present) noexcept;
    bool look_at_timers(clock_tick now) noexcept;
    bool look_at_events(cycle_count& present) noexcept;
    void arm_deferred(cycle_count& present) noexcept;
    void park(clock_tick until) noexcept;
    bool sleep_in_place(clock_tick until) noexcept;
    [[nodiscard]] clock_tick sleeps_until() const noexcept;

    const char* const what_;
    const clock_tick timer_spin_;
    const clock_tick keep_memory_;  // timing_wheel::never: for ever
    door door_{*this};
    os::process_mark process_;
    const std::size_t processors_;  // that the process may use
    spin_budget spin_;
    clock_tick waited_until_ = 0;  // the present, where nothing has run since a wait; 0: it is not known
    timer_queue timers_;
    timer_pace timer_pace_;
    // In cycles; 0: not known.
    std::uint64_t last_turn_ = 0;
    std::uint64_t deferred_since_ = 0;  // a turn that found the first of what is deferred
    os::parker parker_;
    idle_memory memory_;
    look_pace event_pace_;
    atomic<std::uint64_t> resumed_{0};
    atomic<std::uint64_t> sleeps_{0};
};

}  // namespace coflux::detail
