// source: where the records of a stream job come from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// Gives records, partition by partition.
///
/// Laws: `co_await s.read(here, into, most)` waits for a record, puts at least one and at most `most` behind what is in
/// `into`, and returns true; false, with nothing put, once there will be no more. Less than `most` says that there are
/// no more at the moment. Records of a partition come in order, each with the position behind it, which rises. A stop
/// ends a read that waits, and loses nothing: what has not been put comes at the next read. Errors are thrown, and
/// nothing was put then; the run ends.
/// Where `into.keeps_originals()`, it puts each record with what was read, if it has bytes.
/// `s.partition_name(p)` names a partition for ever: positions are stored by it.
///
/// coflux::testing::check_source() checks a type by them, and by those of what else it can do.
template <typename S>
concept source =
    requires(S& s, environment& here, batch<typename S::value_type>& into, std::size_t most, std::uint32_t partition) {
        { s.read(here, into, most) } -> std::same_as<call<bool>>;
        { s.partition_name(partition) } -> std::convertible_to<std::string>;
    };

/// A source that can begin anywhere.
///
/// Laws: `co_await s.seek(here, positions)`, before the first read of a run, lets each named partition begin at its
/// position, and each other one where the last seek has put it, or at its front, however far an earlier run has read
/// it. A name that the source does not know is an error that tells it.
template <typename S>
concept seekable_source = source<S> && requires(S& s, environment& here, const positions& to) {
    { s.seek(here, to) } -> std::same_as<call<void>>;
};

/// A source that remembers how far its reader has come.
///
/// Laws: `co_await s.commit(here, positions)` stores them: the next run begins there, whatever was read. It may be
/// called while a read waits, from another thread.
template <typename S>
concept committing_source = source<S> && requires(S& s, environment& here, const positions& done) {
    { s.commit(here, done) } -> std::same_as<call<void>>;
};

/// An event in the life of a partition of a source.
enum class partition_event : unsigned char {
    assigned,  ///< the source gives its records from now on
    revoked,   ///< another process shall have it, once this one has released it
    lost       ///< another process may have it already
};
struct partition_change {
    partition_event what;
    std::uint32_t partition;
};

/// Fails a job that is exactly once: another process may have read the partition again by now, and what is on its way
/// from it would be there twice. The next run begins where it was committed.
class partition_lost : public std::runtime_error {
public:
    explicit partition_lost(const std::string& partition)
        : std::runtime_error("coflux: the partition " + partition +
                             " was lost to another process before its outputs were committed: run the job again") {}
};

/// A source whose partitions come and go, as those of a consumer group do.
///
/// Laws: `s.take_change()` gives the changes behind the records that were read, in their order, each once; a read may
/// return true with no record because of one. A revoked partition gives no record any more; `co_await s.release(here,
/// p)` is called when all that was read of it is committed. A commit of a partition that the source does not have is
/// ignored.
template <typename S>
concept rebalanced_source = committing_source<S> && requires(S& s, environment& here, std::uint32_t partition) {
    { s.take_change() } -> std::same_as<std::optional<partition_change>>;
    { s.release(here, partition) } -> std::same_as<call<void>>;
};

/// A source that works beside its reads.
///
/// Laws: the job runs `co_await s.work(here, keeps_originals)` from before the first read until it reads no more; reads
/// wait for what it finds. It returns early where there will be no more. A stop ends it, and loses nothing.
template <typename S>
concept working_source = source<S> && requires(S& s, environment& here, bool keeps_originals) {
    { s.work(here, keeps_originals) } -> std::same_as<call<void>>;
};

/// A source that knows partitions before they give something: until then they hold the watermark, unless they are idle.
///
/// Laws: `s.partitions()` gives them, each once, behind a seek.
template <typename S>
concept partitioned_source = source<S> && requires(S& s) {
    { s.partitions() } -> std::same_as<std::vector<std::uint32_t>>;
};

/// A source that knows which of its partitions give nothing more: they hold the watermark no longer.
///
/// Laws: `s.ended()` gives them in the order of their ends, behind the last record of each. Between two seeks it only
/// grows. It is called between two reads.
template <typename S>
concept ending_source = source<S> && requires(S& s) {
    { s.ended() } -> std::convertible_to<std::span<const std::uint32_t>>;
};

/// A source that does not begin each run in the same way: it is made of others, or refuses a second run.
///
/// Laws: a run that has no positions, or whose source cannot seek, calls `co_await s.rewind(here, positions)` in place
/// of a seek. The source, or each of those that it is made of, then begins as it would by itself: one that commits
/// where it has committed, else one that can seek at its positions or its front.
template <typename S>
concept rewinding_source = source<S> && requires(S& s, environment& here, const positions& to) {
    { s.rewind(here, to) } -> std::same_as<call<void>>;
};

/// A partition of a source: how far it has been read, and where it ends at present.
///
/// Units: those of record::next.
struct partition_extent {
    std::uint32_t partition;
    std::int64_t next;
    std::int64_t end;
};

/// A source that knows how much is left to be read.
///
/// Laws: `s.measure()` gives the extents of the partitions that it knows, and does not wait; it is called behind a
/// seek, and between two reads. `s.is_bounded()`: it ends there, and gives what it has in the meantime.
template <typename S>
concept measured_source = source<S> && requires(S& s) {
    { s.measure() } -> std::same_as<std::vector<partition_extent>>;
    { s.is_bounded() } -> std::same_as<bool>;
};

}  // namespace coflux::stream
