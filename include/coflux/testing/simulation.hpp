// A world of one thread and virtual time, in which a chooser decides what happens next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

namespace detail {
class world;
}  // namespace detail

/// One decision of a run.
struct decision {
    choice what;
    std::uint32_t chosen;
    std::uint32_t of;  ///< number of candidates

    friend bool operator==(const decision&, const decision&) = default;
};

/// How a simulation is made.
struct simulation_options {
    /// After so many resumptions the run counts as one that does not end.
    std::size_t max_steps = 1'000'000;
    /// Time may pass although coroutines are ready, as on a machine that is too slow: the chooser is asked (choice::time).
    bool late_work = false;
};

/// Nothing can run, and yet somebody waits; or the run does not end. Its text says who waits for what, and where.
class simulation_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
class deadlock_error final : public simulation_error {
public:
    using simulation_error::simulation_error;
};
class livelock_error final : public simulation_error {
public:
    using simulation_error::simulation_error;
};

/// A world in which coroutines run on one thread, one after the other, in an order that a chooser decides, and in which time
/// passes only when all wait for it.
///
/// While it lives, blocking waits of its thread (get(), join(), the end of a task) run its coroutines, and the clock of its
/// thread (coflux::clock, sleeps, deadlines) shows its time. sim_executor is how coroutines get into it.
/// Errors: get() and join() throw deadlock_error when nothing can run any more, and livelock_error after max_steps, once what
/// hangs has been stopped and has ended. What cannot even be stopped ends the program with the same text.
/// Threads: the one that made it; simulations of one thread are nested. Lifetime: outlives its executors' environments.
class simulation {
public:
    explicit simulation(chooser& decides, simulation_options options = {});
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    ~simulation();

    /// The youngest of the calling thread; nullptr if there is none.
    [[nodiscard]] static simulation* current() noexcept;

    /// Resumes one coroutine; if none is ready, lets time pass until one is. False if nobody is ready and nobody sleeps.
    bool step();
    /// Until nothing happens any more by itself.
    void run();
    /// Lets `d` pass: all that is due until then happens in its order.
    void advance(std::chrono::nanoseconds d);

    [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;
    /// Virtual time since the beginning.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept;
    /// Resumptions so far.
    [[nodiscard]] std::size_t steps() const noexcept;
    /// What was decided so far: given to a replay_chooser it makes the same run.
    [[nodiscard]] const std::vector<decision>& schedule() const noexcept;

private:
    friend class sim_executor;

    std::unique_ptr<detail::world> world_;
};

}  // namespace coflux::testing
