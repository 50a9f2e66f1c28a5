// The seam for simulation: a thread that runs the coroutines itself that it waits for, at a time of its own.
#pragma once

#include <cstdint>

namespace coflux::detail {

struct frame_control;
class timer_service;

/// What a thread's blocking waits, clock and timers go through while thread_state::driver names it. Threads: that one.
class thread_driver {
public:
    thread_driver(const thread_driver&) = delete;
    thread_driver& operator=(const thread_driver&) = delete;

    /// Runs coroutines until `c` has ended. What goes wrong meanwhile is thrown once `c` has ended, if that is allowed.
    virtual void drive(frame_control& c, bool may_throw) = 0;

    /// The present in nanoseconds of the steady clock.
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
    /// For coroutines whose thread looks at no timers of their executor.
    [[nodiscard]] timer_service& timers() const noexcept { return *timers_; }

protected:
    thread_driver(std::uint64_t now, timer_service& timers) noexcept : now_(now), timers_(&timers) {}
    ~thread_driver() = default;

    std::uint64_t now_;

private:
    timer_service* timers_;
};

}  // namespace coflux::detail
