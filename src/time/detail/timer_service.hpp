// The timers of coroutines whose thread looks at none: one wheel under a lock, and one thread for the process. A
// thread_driver has a service of its own, without a thread.
#pragma once

#include <coflux/base/thread.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/time/detail/timer_counts.hpp>
#include <coflux/time/detail/timer_queue.hpp>

#include "os/process/process.hpp"
#include "os/thread/parker.hpp"

namespace coflux::detail {

/// Threads: any. Lifetime: the object is never destroyed; its thread ends when static objects die, and what sleeps then
/// sleeps for ever.
class timer_service {
public:
    /// That of the calling thread's driver, else the process's, whose thread starts in the first call. Errors:
    /// std::system_error when the system has no more threads.
    static timer_service& shared();
    /// The counts of the process's; nullptr where no coroutine has needed it.
    [[nodiscard]] static const timer_counts* counts_of_process() noexcept;

    /// One without a thread, whose owner looks at it.
    explicit timer_service(clock_tick now) noexcept : wheel_(now) {}
    /// Time passes; one that is due is handed out, or false.
    void pass_to(clock_tick now) noexcept { wheel_.expire(now); }
    bool hand_out_one() noexcept;
    /// As if it were made anew. Pre: no coroutine sleeps.
    void restart(clock_tick now) noexcept { wheel_.restart(now); }
    /// Nothing is due before.
    [[nodiscard]] clock_tick next_deadline() const noexcept { return wheel_.next_deadline(); }

    /// Inserts `t`. Pre: no other thread knows it.
    void arm(timer& t, clock_tick deadline) noexcept;
    /// Inserts `t`, which is also the wait `w`, that has begun; false if `w` must stop, and then it did not. `t` may be
    /// gone when this returns true.
    [[nodiscard]] bool arm(timer& t, clock_tick deadline, wait_operation& w) noexcept;
    /// Takes `t` before its time, and out: true if that came first. due() is not called.
    [[nodiscard]] bool take(timer& t) noexcept;

private:
    static timer_service& of_process();

    bool hand_out(unique_lock<mutex>& held) noexcept;
    void insert(timer& t, clock_tick deadline, unique_lock<mutex>& held) noexcept;
    void serve() noexcept;
    void end() noexcept;

    mutex lock_;  // guards what is between here and parker_
    timing_wheel wheel_;
    timer_counts counts_;
    clock_tick sleeps_until_ = 0;  // the thread looks at the wheel at this time at the latest; 0: before it sleeps
    bool ends_ = false;
    os::parker parker_;
    os::process_mark process_;
    thread thread_;
};

}  // namespace coflux::detail
