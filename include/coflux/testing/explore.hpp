// A body run under many schedules, until one shows a fault; that one made small, and reported.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <coflux/testing/simulation.hpp>

namespace coflux::testing {

/// How schedules are chosen.
enum class search_kind : std::uint8_t {
    mixed,       ///< seed 0: FIFO; of the rest every fourth random, and PCT of depth 1, 2 and 3
    exhaustive,  ///< all of them, depth first, with at most explore_options::deviations decisions that differ from FIFO
};

struct explore_options {
    /// How many runs at most; 0: what the environment variable COFLUX_RUNS says, else 200.
    std::size_t runs = 0;
    /// Run i has the seed first_seed + i.
    std::uint64_t first_seed = 0;
    search_kind search = search_kind::mixed;
    std::size_t deviations = std::numeric_limits<std::size_t>::max();
    /// The length of a run that PCT goes by; 0: drawn from the seed, between 8 and 1024.
    std::size_t expected_decisions = 0;
    simulation_options simulation{};
    /// Asked after each run in which nothing was thrown: what was wrong with it; empty: nothing.
    std::function<std::string()> verdict{};
    /// How many runs may be spent on making a failing schedule small; with all of them no more than some three million
    /// resumptions.
    std::size_t shrink_runs = 500;
};

enum class failure_kind : std::uint8_t { deadlock, livelock, exception, verdict };

/// A run that failed, with the smallest schedule that was found for it.
struct run_failure {
    failure_kind kind;
    std::string what;                  ///< the text of the error or the verdict
    std::exception_ptr error;          ///< what the body threw, if it did
    std::uint64_t seed;                ///< of the run that was found; 0 in an exhaustive search
    std::string chooser;               ///< the chooser that decided in it
    std::size_t deviations_found;      ///< decisions that differed from FIFO in it
    std::vector<decision> schedule;    ///< of the smallest
    std::size_t steps;                 ///< of the smallest
    std::chrono::nanoseconds elapsed;  ///< virtual time of the smallest
    std::string tree;         ///< what was alive when the first root that failed had ended; a hang has it in `what`
    std::size_t shrink_runs;  ///< spent

    /// `COFLUX_SCHEDULE=…`: what replays it. A schedule that is too long for a line is put into a file, and this names
    /// it: `COFLUX_SCHEDULE=@/tmp/coflux-schedule-….txt`.
    [[nodiscard]] std::string replay() const;
};

struct exploration {
    std::size_t runs = 0;      ///< up to the failure, without those of shrinking
    std::size_t distinct = 0;  ///< different schedules among them
    std::uint64_t decisions = 0;
    std::uint64_t steps = 0;
    bool exhausted = false;  ///< there is no other schedule within the bound of an exhaustive search
    std::optional<run_failure> failure;
    /// With COFLUX_SCHEDULE: the first decision that has other candidates than there, or that did not come. Then the
    /// program is another one, and that it does not fail says nothing.
    std::optional<std::size_t> diverged_at;

    [[nodiscard]] bool ok() const noexcept { return !failure; }
    /// Lines for people: what failed, how to replay it, what was alive; or what was run.
    [[nodiscard]] std::string report() const;
};

/// Runs `body(simulation&)` in a simulation after the other, each with another schedule, until one fails or all were
/// run. A run fails if the body throws, if it hangs anywhere, if the error of a root is left unobserved and no handler
/// of its environment takes it, or if the verdict says so. One that has not ended after simulation_options::max_steps
/// counts as a livelock; its text names the loops on yield() that it ended in. A failing schedule is then made small:
/// decisions that differ from FIFO are left out as long as the run fails in the same way.
///
///     const auto r = explore([](simulation&) {
///         sim_executor on;
///         auto env = make_environment(on);
///         transfer(env).get();
///     });
///     EXPECT_TRUE(r.ok()) << r.report();
///
/// Shapes: each call of the body makes what it needs anew, and behaves alike after equal decisions.
/// Returns: what was run, and the failure. An exception of the body comes before the hang that it may leave. It prints
/// nothing; but a check that fails meanwhile prints the seed and the schedule, and a COFLUX_SCHEDULE of another program
/// that does not fail is told on stderr.
/// Errors: an environment variable that cannot be read as what it should be is a checked error. With COFLUX_SEED=n in
/// the program's environment only the run with that seed is made, with COFLUX_SCHEDULE=… only the one that it
/// describes, or that the file after an `@` does, as it is.
/// Costs: one simulation a run, and 8 bytes for each different schedule.
/// Source: shrinking is ddmin of Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE
/// 2002.
[[nodiscard("it says whether a run failed")]] exploration explore(const explore_options& options,
                                                                  const std::function<void(simulation&)>& body);
[[nodiscard("it says whether a run failed")]] exploration explore(const std::function<void(simulation&)>& body);

}  // namespace coflux::testing
