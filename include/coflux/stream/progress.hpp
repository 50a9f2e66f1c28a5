// show_progress: a line that says how a job gets on.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
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
    /// Key and partition that have more than their part of the records: "key ann 63 %", "partition 7 80 %".
    std::string hot{};

    friend bool operator==(const progress&, const progress&) = default;
};

/// "1.23 M records, 812 k/s, lag 3.20 M, watermark 2026-11-29 12:00:05, 1:05 left, 2 dead": without a line end. It
/// does not name what is not known, nor a 0 behind the time that is left.
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
/// The bytes that show `text` on a terminal of so many columns.
[[nodiscard]] std::string line_for_terminal(std::string text, unsigned columns);
}  // namespace detail

/// Shows how a job gets on until its run ends, however that is:
/// `co_await when_all(stop_on_error, run(here, flow, job), show_progress(here, control))`.
///
/// Shapes: `control` is that of the run beside it, or of one to come. A run that does not begin does not end either:
/// the policy ends the wait for it.
/// Returns: a call. The last line is written behind the end of the run.
/// Stops: a stop point; the line on a terminal is left as it is.
/// Costs: a snapshot each time, and a write that waits for its terminal or pipe.
[[nodiscard("nothing is shown until it is awaited: co_await it beside the run")]] call<void>
show_progress(environment& here, job_control& control, progress_options options = {});

}  // namespace coflux::stream
