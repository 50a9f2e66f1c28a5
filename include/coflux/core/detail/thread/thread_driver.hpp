// The seam for simulation: a thread that runs the coroutines itself that it waits for, at a time of its own.
#pragma once

#include <cstdint>

namespace coflux::detail {

class failure;
class file_calls;
struct frame_control;
struct wait_record;
class promise_base;
class socket_calls;
class timer_service;

/// A thread's blocking waits, clock and timers go through it while thread_state::driver names it, and it hears of the
/// waits that begin there.
/// Threads: that one.
class thread_driver {
public:
    thread_driver(const thread_driver&) = delete;
    thread_driver& operator=(const thread_driver&) = delete;

    /// Runs coroutines until `c` has ended. An error meanwhile is thrown once `c` has ended, if that is allowed.
    /// False if `c` runs elsewhere: then the thread must block, and nothing is left to be done here.
    [[nodiscard]] virtual bool drive(frame_control& c, bool may_throw) = 0;

    /// The first wait in or below a root environment has begun: `r` is its record.
    virtual void add_root(wait_record& r) noexcept = 0;
    /// That record goes.
    virtual void remove_root(wait_record& r) noexcept = 0;
    /// `p` suspends in a foreign awaitable, which no record knows, until end_foreign_wait().
    virtual void begin_foreign_wait(promise_base& p) noexcept = 0;
    virtual void end_foreign_wait(promise_base& p) noexcept = 0;

    /// The unobserved error of a root, which no handler wants. True if it is kept here, and so need not end the
    /// program.
    [[nodiscard]] virtual bool keep_unobserved(const failure& f) noexcept = 0;

    /// A coroutine awaits something; only of code that is compiled with COFLUX_TEST_POINTS. Its exception comes out of
    /// the await.
    virtual void at_await() = 0;

    /// The present in nanoseconds of the steady clock.
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
    /// For coroutines whose thread looks at no timers of their executor.
    [[nodiscard]] timer_service& timers() const noexcept { return *timers_; }
    /// The calls of the sockets that are opened on this thread; nullptr: the system's.
    [[nodiscard]] socket_calls* sockets() const noexcept { return sockets_; }
    /// The calls of the files that are opened on this thread; nullptr: the system's.
    [[nodiscard]] file_calls* files() const noexcept { return files_; }

protected:
    thread_driver(std::uint64_t now, timer_service& timers) noexcept : now_(now), timers_(&timers) {}
    ~thread_driver() = default;

    std::uint64_t now_;
    socket_calls* sockets_ = nullptr;
    file_calls* files_ = nullptr;

private:
    timer_service* timers_;
};

}  // namespace coflux::detail
