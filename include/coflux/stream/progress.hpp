// show_progress: a line that says how a job gets on.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <coflux/core/environment.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/stream/snapshot.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::stream {

/// How a job gets on.
struct progress {
    std::uint64_t records = 0;
    double rate = 0;                     ///< records a second, lately
    std::optional<std::uint64_t> lag{};  ///< in the units of the source
    event_time watermark = no_time;
    std::optional<std::chrono::seconds> left{};  ///< where the source has an end, and it gets nearer
    std::uint64_t failed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t dead = 0;
    std::uint64_t late = 0;
    /// What has more than its part of the records: "key ann 63 %", "partition 7 80 %".
    std::string hot{};

    friend bool operator==(const progress&, const progress&) = default;
};

/// "1.23 M records, 812 k/s, lag 3.20 M, watermark 2026-11-29 12:00:05, 1:05 left, 2 dead": without a line end. What is
/// not known, or 0 behind the time that is left, is not named.
[[nodiscard]] std::string to_text(const progress& p);

/// Makes a progress of each snapshot: rates are those of the last ten.
///
/// Threads: one at a time.
class progress_meter {
public:
    /// `at`: when the snapshot was taken; it does not go back.
    [[nodiscard]] progress see(const job_snapshot& now, clock::time_point at);

private:
    struct seen {
        clock::time_point at;
        std::uint64_t records;
        std::optional<std::uint64_t> lag;
    };
    std::deque<seen> seen_;
};

/// Where and how often the line is written.
struct progress_options {
    /// Before the line: "orders: 1.23 M records, ...".
    std::string name{};
    /// A terminal has one line, which is written anew. Anything else gets a line each time.
    std::FILE* to = stderr;
    /// Time between two of them; 0: half a second on a terminal, ten elsewhere.
    std::chrono::nanoseconds every{0};
};

namespace detail {
fork<void> shower(environment& env, borrowed<job_control> control, progress_options options);
/// What is written to a terminal of so many columns.
[[nodiscard]] std::string line_for_terminal(std::string text, unsigned columns);
}  // namespace detail

/// Shows how a job gets on until its run ends, however that is: `auto shown = stream::show_progress(here, control);`, and
/// then `co_await stream::run(...)` with this control.
///
/// Shapes: `control` outlives the fork, and is that of a run to come or of one that runs.
/// Returns: a fork, which has begun. The last line is written behind the end of the run.
/// Stops: a stop point; the line on a terminal is left as it is.
/// Costs: a snapshot each time, and a write that waits for its terminal or pipe.
[[nodiscard(
    "the fork belongs to its scope, which waits for the end of the run: await it, or say .attach()")]] inline fork<void>
show_progress(environment& here, job_control& control, progress_options options = {}) {
    return detail::shower(here, borrowed(control), std::move(options));
}

}  // namespace coflux::stream
