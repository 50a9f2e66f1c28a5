// kafka::partition_source: the messages of given partitions as records of a stream job, which has them for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/message.hpp>
#include <coflux/kafka/position.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::kafka {

/// The messages of given partitions, for a flow with a state: `from(kafka::partition_source(member, partitions)) | …`.
///
/// It joins no group, so that partitions stay; it only keeps its positions under the group's name. Two processes that
/// read the same partitions both read all of them.
///
/// Shapes, Stops, Threads, Costs, Lifetime: as source.
/// Errors: as source; std::invalid_argument for no partition, and for a seek to one that it has not;
/// errc::unknown_member where members of a group of this name are there.
class partition_source {
public:
    using value_type = message;

    /// The offsets of `partitions` do not count.
    partition_source(const consumer_options& reader, std::vector<position> partitions, source_options options = {});
    partition_source(partition_source&&) noexcept;
    partition_source& operator=(partition_source&&) noexcept;
    ~partition_source();

    [[nodiscard]] call<bool> read(environment& here, stream::batch<message>& into, std::size_t most);
    [[nodiscard]] std::string partition_name(std::uint32_t p) const;
    [[nodiscard]] std::vector<std::uint32_t> partitions() const;
    [[nodiscard]] call<void> seek(environment& here, const stream::positions& to);
    [[nodiscard]] call<void> commit(environment& here, const stream::positions& done);

    /// Ends the client, when the job has ended.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment& here);

private:
    friend class detail::kafka_transaction;
    std::unique_ptr<detail::kafka_input> state_;
};
static_assert(stream::committing_source<partition_source> && stream::seekable_source<partition_source> &&
              stream::partitioned_source<partition_source>);

/// All partitions that a topic has now: `kafka::partition_source in(reader, co_await kafka::partitions_of(here, reader,
/// "orders"))`.
/// Errors, Stops: as consumer::partition_count().
[[nodiscard("nothing is asked until this is awaited: co_await it")]] call<std::vector<position>>
partitions_of(environment& env, consumer_options reader, std::string_view topic);

/// Topics that are joined have other numbers of partitions. The text has each topic and its number.
class not_co_partitioned : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The partition `number` of each of the topics, for a job that joins them:
/// `kafka::partition_source in(reader, co_await kafka::co_partitions_of(here, reader, {"orders", "payments"}, 2))`.
///
/// Records of a key are in partitions of the same number only where their topics have as many partitions, and are
/// written by the same partitioner. The broker is asked for the numbers, so each process of a group that shares the
/// partitions finds out for itself, whichever it has.
/// Errors: not_co_partitioned; std::invalid_argument for no topic, and for a number that the topics do not have; as
/// consumer::partition_count().
/// Stops: as consumer::partition_count().
[[nodiscard("nothing is asked until this is awaited: co_await it")]] call<std::vector<position>>
co_partitions_of(environment& env, consumer_options reader, std::vector<std::string> topics, std::int32_t number);

}  // namespace coflux::kafka
