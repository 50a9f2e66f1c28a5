// A world of one thread and virtual time, in which a chooser decides what happens next.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

namespace detail {
class explorer;
class world;
}  // namespace detail

/// How a simulation is made.
struct simulation_options {
    /// After so many resumptions the run counts as one that does not end.
    std::size_t max_steps = 1'000'000;
    /// Time may pass although coroutines are ready, as on a machine that is too slow: the chooser is asked
    /// (choice::time).
    bool late_work = false;
};

/// Nothing can run, and yet a coroutine waits; or the run does not end. Its text says which coroutine waits for what,
/// and where.
class simulation_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
/// No coroutine can run, and one waits.
class deadlock_error final : public simulation_error {
public:
    using simulation_error::simulation_error;
};
/// There was no end after simulation_options::max_steps.
class livelock_error final : public simulation_error {
public:
    using simulation_error::simulation_error;
};

/// A world in which coroutines run on one thread, one after the other, in an order that a chooser decides, and in which
/// time passes only when all wait for it.
///
/// While it lives, blocking waits of its thread (get(), join(), the end of a task) run its coroutines. The clock of its
/// thread (coflux::clock, sleeps, deadlines) shows its time, which begins one second after the clock's epoch in each
/// simulation. sim_executor is how coroutines get into it. The page docs/design/simulation.md says which orders it
/// reaches.
///
/// Errors: get() and join() throw deadlock_error when nothing can run any more, and livelock_error after max_steps,
/// once what hangs has been stopped and has ended. Where nothing can be thrown, in the destructor of a task, the first
/// such error ends the program with its text, unless explore() collects it. A hang that cannot even be stopped ends the
/// program with the same text. A coroutine that another thread resumes is a checked error.
/// Threads: the one that made it; simulations of one thread are nested.
/// Costs: after the first simulations of a thread none allocates, but for schedules longer than those before.
/// Lifetime: outlives its executors' environments.
class simulation {
public:
    /// `decides` outlives it.
    explicit simulation(chooser& decides, simulation_options options = {});
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    /// Coroutines that are ready or sleep go on to their end first.
    ~simulation();

    /// The youngest of the calling thread; nullptr if there is none.
    [[nodiscard]] static simulation* current() noexcept;

    /// Resumes one coroutine; if none is ready, lets time pass until one is. False if none is ready and none sleeps.
    bool step();
    /// Until nothing happens any more by itself.
    /// Errors: livelock_error after max_steps.
    void run();
    /// Lets `d` pass: all that is due until then happens in its order.
    void advance(std::chrono::nanoseconds d);

    /// Calls `f(n)` before the n-th resumption, and before it is decided which coroutine that is; the first is 1. It
    /// may wake and stop coroutines, and must not throw. One at a time; an empty one calls nothing.
    void on_step(std::function<void(std::size_t)> f);
    /// Calls `f(n)` at the n-th await of a coroutine, ready or not; the first is 1. Its exception comes out of that
    /// await, as an error of what is awaited would. Only in files that are compiled with COFLUX_TEST_POINTS defined as
    /// 1: define it for all files of the program that have coroutines, or for none. One at a time; an empty one calls
    /// nothing.
    void on_await(std::function<void(std::size_t)> f);

    /// A question of the test's own, as when the power is cut: `co_await (sim.choose(8) * 1ms)`.
    /// Returns: a number below `of`, which the chooser decides (choice::amount); 0 on a good day.
    /// Pre: `of` is not 0, checked.
    [[nodiscard]] std::size_t choose(std::size_t of);
    [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;
    /// Virtual time since the beginning.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept;
    /// Resumptions so far.
    [[nodiscard]] std::size_t steps() const noexcept;
    /// The decisions so far: given to a replay_chooser it makes the same run.
    [[nodiscard]] const std::vector<decision>& schedule() const noexcept;
    /// Which coroutine waits for what, awaited by which one, at which file:line, and the tree of the coroutines that
    /// are alive. The tree holds the coroutines that are ready, that wait, or that await one of these, and all above.
    /// It lacks a coroutine that none of these leads to.
    [[nodiscard]] std::string describe() const;
    /// The text of the first deadlock or livelock, also of one that could not be thrown; empty if there was none.
    [[nodiscard]] const std::string& failure() const noexcept;

private:
    friend class sim_executor;
    friend class detail::explorer;

    std::unique_ptr<detail::world> world_;
};

}  // namespace coflux::testing
