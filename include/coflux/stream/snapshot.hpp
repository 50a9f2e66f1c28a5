// job_snapshot: how far a job is, and where its time goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <coflux/stream/job.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// How long batches take, by a sample: the first one of an actor, and each 16th behind it.
struct batch_times {
    std::uint64_t batches = 0;  ///< in the sample
    std::uint64_t records = 0;  ///< of these batches
    std::chrono::nanoseconds total{0};

    /// 0 where none was timed.
    [[nodiscard]] std::chrono::nanoseconds of_batch() const noexcept {
        return batches == 0 ? total : total / static_cast<std::int64_t>(batches);
    }
    [[nodiscard]] std::chrono::nanoseconds of_record() const noexcept {
        return records == 0 ? std::chrono::nanoseconds(0) : total / static_cast<std::int64_t>(records);
    }
    friend bool operator==(const batch_times&, const batch_times&) = default;
};

/// A partition of the source. An error is counted for the partition that the record names.
struct partition_snapshot {
    std::string name;
    std::uint64_t records = 0;  ///< read
    std::uint64_t failed = 0;
    std::uint64_t retried = 0;
    std::uint64_t skipped = 0;
    std::uint64_t dead = 0;
    std::uint64_t late = 0;
    /// How much is left to be read, in the units of record::next; where the source is a `measured_source`.
    std::optional<std::uint64_t> lag{};
    /// No record before it is expected; no_time before the first record.
    event_time watermark = no_time;
    /// Its part of the records that were read between the last two barriers, from 0 to 1.
    double share = 0;
};

/// A key that has at least a worker's part of the records of its region: no move of slots helps its worker.
struct hot_key {
    /// A number, a text, "(a, b)", what its to_string() gives, or "#" and its hash; 32 bytes of it at most.
    std::string key;
    std::uint32_t region = 0;
    std::uint32_t worker = 0;
    /// Its part of the region's records, from 0 to 1, by a sample since the last barrier.
    double share = 0;
};

/// A worker of a region; regions are counted from 1.
struct worker_snapshot {
    std::uint32_t region = 0;
    std::uint32_t number = 0;
    std::uint64_t records = 0;
    std::uint64_t batches = 0;
    std::uint64_t late = 0;
    event_time watermark = no_time;
    batch_times step{};
};

/// How far a job is, and where its time goes: by job_control::snapshot().
///
/// Counts of different actors may be a batch apart. Those of partitions are as old as job::linger, at most.
struct job_snapshot : job_report {
    /// The least watermark of the source's partitions that are not idle.
    event_time watermark = no_time;
    /// The sum of the partitions' that are known.
    std::optional<std::uint64_t> lag{};
    /// The source has an end, and the lag says how far it is.
    bool is_bounded = false;
    std::uint64_t read = 0;               ///< records that came from the source
    batch_times read_time{};              ///< a read of the source, with its waiting
    batch_times step_time{};              ///< the stages of a worker, for a batch; with the waits of calls and retries
    batch_times write_time{};             ///< a write of the sink
    std::vector<std::uint64_t> queued{};  ///< batches that wait for each region; the last one: for the sink
    std::vector<partition_snapshot> partitions{};
    std::vector<worker_snapshot> workers{};
    /// The hottest first; of each worker of a by_key() the hottest, at most.
    std::vector<hot_key> hot_keys{};
};

}  // namespace coflux::stream
