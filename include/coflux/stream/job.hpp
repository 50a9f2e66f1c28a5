// job: how a stream job runs, and what it says of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <coflux/stream/detail/observed.hpp>
#include <coflux/sync/manual_reset_event.hpp>

namespace coflux::stream {

/// Each record reaches the sink, after a crash perhaps twice.
struct at_least_once_t {};
/// Each record has its effect once, whatever crashes: source, sink and state must be able to.
struct exactly_once_t {};
inline constexpr at_least_once_t at_least_once{};
inline constexpr exactly_once_t exactly_once{};

/// State lives as long as the run: the next one begins without.
struct no_store {};

/// The job fails with the error; the default.
struct fail_job {};
/// The record is counted and skipped.
struct skip_record {};

/// How often a record that a stage has failed for, or a write of the sink, is tried again, and when. An error of the
/// source, a flush or a commit ends the job at once: its next run begins at the last commit.
struct retry {
    std::uint32_t attempts = 0;
    std::chrono::nanoseconds first = std::chrono::milliseconds(100);
    std::chrono::nanoseconds most = std::chrono::seconds(10);
};

/// The account of a run.
struct job_report {
    std::uint64_t records = 0;  ///< read and processed
    std::uint64_t outputs = 0;  ///< written by the sink
    std::uint64_t failed = 0;   ///< attempts of a stage or the sink that threw
    std::uint64_t retried = 0;  ///< attempts after a failure
    std::uint64_t skipped = 0;  ///< given up, and counted only
    std::uint64_t dead = 0;     ///< given to the dead letters
    std::uint64_t late = 0;     ///< behind the watermark, and dropped
    std::uint64_t commits = 0;  ///< barriers that are committed
    std::uint64_t batches = 0;  ///< parcels that workers took
    std::uint64_t moves = 0;    ///< times that slots of a region got other owners
    bool drained = false;       ///< ended by drain(), not at the end of its source
};

struct job_snapshot;

/// Looks at a job while it runs, and ends it.
///
/// Threads: any.
/// Lifetime: outlives the run that it was given to. It is of one run at a time, and counts anew in each.
class job_control {
public:
    /// The job reads no more, processes what it has read, commits, and ends. Its windows stay open, for the next run.
    void drain() noexcept { draining_.set(); }
    [[nodiscard]] bool draining() const noexcept { return draining_.is_set(); }
    /// `co_await control.drain_requested()` waits for drain().
    [[nodiscard]] auto drain_requested() noexcept { return draining_.wait(); }

    /// The job as it is now; behind the run: as it was at its end.
    ///
    /// Costs: it takes no lock and holds no actor of the job up, and allocates what it returns. The job stores its
    /// counts once a batch, whether they are looked at or not.
    [[nodiscard]] job_snapshot snapshot() const;

    /// `co_await control.run_ended()` waits for the end of the run, or of the one to come: whatever ends it.
    [[nodiscard]] auto run_ended() noexcept { return ended_.wait(); }

    /// The engine's.
    [[nodiscard]] detail::observed& seen() noexcept { return seen_; }
    void begin_run() noexcept { ended_.reset(); }
    void end_run() noexcept { ended_.set(); }

private:
    manual_reset_event draining_;
    manual_reset_event ended_;
    detail::observed seen_;
};

namespace detail {
[[nodiscard]] job_report report_of(const observed& of) noexcept;
}  // namespace detail

/// How a job runs: `stream::job{.workers = 4, .delivery = stream::exactly_once}`.
///
/// Shapes: the types of its policies are found by what they are given.
/// In a template clang 19 may find the default policies, and then takes the defaults of all options: write
/// `stream::job<stream::exactly_once_t>{…}` there, or a policy in braces, as `stream::exactly_once_t{}`
/// (docs/design/stream.md).
template <typename Delivery = at_least_once_t, typename OnError = fail_job, typename Store = no_store>
struct job {
    /// For messages and checkpoints.
    std::string name = "job";
    /// Workers of each region; 0: as many as the machine has processors for this process.
    std::size_t workers = 0;
    /// Slots of state of each region; it must not change while a checkpoint is to be used. At least the workers.
    std::uint32_t slots = 64;
    /// The version of the layout of its state, which the types of the state ask for by `all.version()`. Older state is
    /// read as they say, that of a newer one is corrupt_state.
    std::uint32_t state_version = 0;
    /// Records of a batch, at most.
    std::size_t max_batch = 1000;
    /// How long a record waits for others of its batch, at most.
    std::chrono::nanoseconds linger = std::chrono::milliseconds(5);
    /// Batches on a link between two workers; then its producer waits. At least 2; 0: as many as hold 2,000 records,
    /// but 2 to 8, so that what is on its way stays in the processor's cache.
    std::size_t queue_batches = 0;
    /// Time between two commits.
    std::chrono::nanoseconds commit_every = std::chrono::seconds(1);
    /// A record may come this much behind the latest of its partition, and be in time.
    std::chrono::nanoseconds lateness{0};
    /// A partition that has given nothing for this long does not hold the watermark.
    std::chrono::nanoseconds idle_after = std::chrono::seconds(30);
    Delivery delivery{};
    OnError on_error{};
    retry retries{};
    /// A state_store, or `std::ref` of one that is looked at afterwards.
    Store state{};
    /// To look at the run, and to drain it.
    job_control* control = nullptr;
};

}  // namespace coflux::stream
