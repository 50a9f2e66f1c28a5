// stall_detector: reports a worker of a pool that keeps its coroutine for too long, because that computes or blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coflux::inspect {

/// A worker that has not gone on to another coroutine.
struct stall {
    std::string executor;            ///< the name of its pool
    std::size_t worker = 0;          ///< its number there
    std::chrono::nanoseconds lasts;  ///< so far, without the time in which it had no processor
    std::string blocked_in;          ///< the system call; empty: it computes
    /// `f at file:line`: the coroutine that runs at its last await, then those above it. Empty where it has not asked
    /// for its context.
    std::vector<std::string> coroutines;
    std::vector<std::string> back_trace;  ///< the thread's own stack, innermost call first; may be empty

    /// The same in some lines.
    [[nodiscard]] std::string text() const;
};

struct stall_options {
    /// How long a worker may keep a coroutine: at least 1 ms.
    std::chrono::nanoseconds threshold = std::chrono::milliseconds(100);
    /// Called once for each stall, on the detector's thread. It does not throw. Empty: text() goes to stderr.
    std::function<void(const stall&)> report;
    /// Takes the back-trace of a thread that is blocked, too, by a signal that interrupts its system call: read()
    /// begins again then, and sleeps and poll() end early.
    bool interrupts_blocked = false;
};

/// While it lives, a thread looks from outside whether the workers of all pools go on. It reports one that has computed
/// or been blocked for the threshold without a suspension, an await of a fork or another end of a step; never one that
/// only waits for a processor.
///
/// Shapes: one of a process at a time; a second one is a checked error. Linux: elsewhere it reports nothing.
/// Errors: std::system_error when the system has no more threads.
/// Threads: any.
/// Costs: none in workers but two instructions behind each park. Some microseconds every 3 ms while a worker is awake;
/// it sleeps while all are parked.
/// Lifetime: the destructor waits for a report that is being made.
/// Example: examples/69_stall.cpp
class stall_detector {
public:
    explicit stall_detector(stall_options options = {});
    ~stall_detector();
    stall_detector(const stall_detector&) = delete;
    stall_detector& operator=(const stall_detector&) = delete;

private:
    class watch;
    std::unique_ptr<watch> watch_;
};

}  // namespace coflux::inspect
