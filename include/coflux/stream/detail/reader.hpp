// reader: reads the source, runs the head of the flow, and sends records to the first region.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/scope/task_scope.hpp>
#include <coflux/stream/detail/any_source.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/links.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/event_times.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/sync/auto_reset_event.hpp>
#include <coflux/sync/mutex.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::stream::detail {

/// When the reader and its pacer do something.
struct paces {
    std::size_t max_batch;
    std::chrono::nanoseconds linger;
    std::chrono::nanoseconds commit_every;
    std::chrono::nanoseconds lateness;
    std::chrono::nanoseconds idle_after;
    bool is_watched;  // a job_control may ask how much is left
    bool is_exact;
};

/// Where the times of the records come from: the head of the flow, or else the source.
struct head_times {
    bool are_of_events;
    std::optional<std::chrono::nanoseconds> arrival_every;  // of arrival_times()

    [[nodiscard]] bool are_of_arrival() const noexcept { return arrival_every.has_value(); }
};

/// The first producer of a job, and its pacer, which sends what lingers and marks barriers.
///
/// Both use the outlet, each with `lock_`. The reader does not hold it while it waits for the source. process() knows the
/// types of the flow, and is called once a batch.
class reader {
public:
    /// `at`: what was restored. A partition that gives nothing stays there.
    reader(any_source& from, links& out, barriers& on_their_way, failure_policy& policy, const paces& pace,
           const head_times& times, positions at, std::unique_ptr<parcel> batch);
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    virtual ~reader() = default;

    /// Reads to the end, or until `control` drains.
    /// Returns: whether it was drained.
    [[nodiscard]] call<bool> run(environment&, job_control& control);

protected:
    // Runs the records of the batch from `first` on. A run of one partition is noted at once, up to one that has failed.
    // Returns: behind the last one, or the one that has failed with error_.
    virtual std::size_t process(std::size_t first) = 0;

    [[nodiscard]] parcel& read_batch() noexcept { return *batch_; }
    // Notes records of one partition, up to position `next`.
    void pass(std::uint32_t partition, std::int64_t next, std::size_t count) {
        if (partition >= read_.size()) [[unlikely]]
            make_room(partition);
        read_[partition].next = next;
        read_[partition].records += count;
    }

    failures failures_;
    watermarks times_;
    std::exception_ptr error_;

private:
    static fork<void> drainer(environment&, borrowed<job_control> control, borrowed<task_scope> reading);
    static fork<void> source_worker(environment&, borrowed<reader> self);
    static fork<void> all_reader(environment&, borrowed<reader> self, borrowed<task_scope> reading);
    static fork<void> pacer(environment&, borrowed<reader> self);

    [[nodiscard]] call<void> read_all(environment&);
    void take_ended() noexcept;
    [[nodiscard]] call<void> follow(environment&);
    [[nodiscard]] bool scatter();
    [[nodiscard]] call<void> scatter_again(environment&);
    [[nodiscard]] call<void> finish(environment&);
    [[nodiscard]] call<void> mark_barrier(environment&, event_time watermark);
    [[nodiscard]] call<void> keep_pace(environment&);

    void make_room(std::uint32_t partition);
    void publish(std::size_t count, event_time watermark);
    void publish(event_time watermark) noexcept;
    void publish_partitions();
    void publish_shares();
    partition_counts& meet(std::uint32_t p);
    void measure();
    void tell_pacer();
    void commit_outputs(clock::time_point now) noexcept;

    static constexpr std::int64_t unread = INT64_MIN;
    struct read_part {
        std::int64_t next = unread;
        std::uint64_t records = 0;
        std::uint64_t at_barrier = 0;  // records before the last one
    };

    any_source& source_;
    links& out_;
    barriers& barriers_;
    observed& seen_;
    sampled_times read_times_;
    const bool keeps_originals_;
    paces pace_;
    const head_times times_of_;
    std::unique_ptr<parcel> batch_;
    std::size_t done_ = 0;
    std::vector<read_part> read_;  // by partition, since the beginning of the run
    positions at_;                 // of the last barrier
    std::uint64_t last_barrier_ = 0;
    std::size_t ended_ = 0;  // partitions of the source, that are taken
    bool at_end_ = false;
    bool must_measure_ = false;
    mutex lock_;
    auto_reset_event news_;
    std::uint64_t outputs_ = 0;  // written before the last barrier
    bool has_news_ = false;      // records since the last barrier
    clock::time_point begin_{};  // of them
};

}  // namespace coflux::stream::detail
