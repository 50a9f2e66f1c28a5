// inject: a body runs again and again, and each time something else goes wrong in it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <source_location>
#include <string>

#include <coflux/testing/failing_resource.hpp>
#include <coflux/testing/fault_point.hpp>

namespace coflux::testing {

/// One run of a body under inject().
///
/// Threads: allocations and fault points on any; steps on one at a time.
/// Lifetime: the run.
class injection {
public:
    injection() = default;
    injection(const injection&) = delete;
    injection& operator=(const injection&) = delete;

    /// Where the body takes its frames and what else is to fail: `make_environment(run.memory(), …)`. A block that
    /// is left in it at the end of the run is a leak.
    [[nodiscard]] failing_resource* memory() noexcept { return &memory_; }

    /// Call it ahead of each resumption: `sim.on_step([&](std::size_t) { run.step(); })`, or that of a
    /// manual_executor.
    void step() {
        ++steps_;
        if (steps_left_ == 0 || --steps_left_ != 0) return;
        happened_ = true;
        if (action_) action_();
    }
    /// The action at the chosen step: a stop request, a close, anything.
    void at_step(std::function<void()> action) {
        action_ = std::move(action);
        has_action_ = true;
    }
    /// Takes the action back: before what it refers to dies.
    void no_action() noexcept { action_ = nullptr; }

    /// True once what this run injects has happened.
    [[nodiscard]] bool happened() const noexcept {
        return happened_ || memory_.failures() != 0 || detail::fault_happened();
    }

    // The parts of the kinds of points.
    void arm_step(std::size_t n) noexcept { steps_left_ = n; }
    [[nodiscard]] bool has_action() const noexcept { return has_action_; }
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

private:
    failing_resource memory_;
    std::function<void()> action_;
    std::size_t steps_ = 0;
    std::size_t steps_left_ = 0;  // 0: not armed
    bool happened_ = false;
    bool has_action_ = false;
};

/// A kind of points at which something can go wrong.
struct injection_points {
    const char* name;                                 ///< in messages, and in COFLUX_INJECT=name:17
    void (*arm)(injection& run, std::size_t n);       ///< it goes wrong at the `n`-th point from now; 0: at none
    bool (*accepts)(const std::exception_ptr& e);     ///< may a run in which it went wrong end with this?
    const char* (*unusable)(const injection& clean);  ///< after the clean run: why it means nothing, or nullptr
};

/// An allocation from `run.memory()` fails. The run may end with std::bad_alloc.
extern const injection_points allocations;
/// A fault_point() throws. The run may end with injected_fault.
extern const injection_points fault_points;
/// The action of `run.at_step(…)` is done ahead of a resumption. The run may end with task_stopped.
extern const injection_points steps;

struct injection_options {
    std::size_t most = 100'000;       ///< more points than that are a failure: the body does not come to an end
    std::function<bool()> invariant;  ///< asked after each run; false is a failure
    bool (*accepts)(const std::exception_ptr& e) =
        nullptr;  ///< what else a run may end with in which something went wrong
};

struct injection_report {
    std::size_t points = 0;  ///< points at which it was injected
    std::string failure;     ///< empty: all is well
};

using injected_body = std::function<void(injection& run)>;

/// Runs `body` with something going wrong at its 1st, 2nd, … n-th point, until a run comes to its end without it.
///
/// After each run: `run.memory()` is empty, so no frame is alive; the invariant holds; no check of the test framework
/// has failed; and what came out of the body is what the points accept, out of the clean run nothing. A hang is for the
/// executor to find: a simulation throws deadlock_error, manual_executor::run() stalled_error. The first failure ends
/// it. With COFLUX_INJECT=<name>:<n> in the process's environment only this run is made.
/// Returns: how many points there were, and what went wrong.
injection_report check_injection(const injection_points& points, const injected_body& body,
                                 const injection_options& options = {});

/// Does what check_injection() does, and reports a failure to the test (report.hpp): which kind, at which point, and
/// how to run just that.
/// Returns: the number of points.
std::size_t inject(const injection_points& points, const injected_body& body, const injection_options& options = {},
                   std::source_location where = std::source_location::current());

}  // namespace coflux::testing
