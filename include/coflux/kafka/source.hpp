// kafka::source: the messages of topics as records of a stream job, which shares them with other processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/message.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>

namespace coflux {
namespace detail {
class kafka_input;
class kafka_transaction;
}  // namespace detail

namespace kafka {

/// Where a source begins.
struct source_options {
    /// A partition that the group has not committed begins at the first message that is not older. Without it
    /// consumer_options::start says where.
    std::optional<std::chrono::system_clock::time_point> from = {};
};

/// The messages of topics, as a member of a group: `from(kafka::source(member, {"orders"})) | kafka::decode(f) | …`.
///
/// Each process that runs the job with the same group has a part of the partitions, and gets others when one comes or
/// goes. A partition begins where the group has committed. A flow with a state does not compile over it: see
/// partition_source.
///
/// Shapes: partitions are named `orders/2`; `next` is the offset behind a message, `time` the message's own. Movable
/// before the first read. A source serves one run, and refuses another one, which would begin behind what this one has
/// read.
/// Errors: kafka::error: at the first read where no broker answers within request_timeout; of a topic that does not
/// exist; of a commit that is refused for so long. std::invalid_argument for no topic, and for a seek to what is no
/// partition of its topics.
/// Stops: loses nothing.
/// Threads: as a source.
/// Costs: no copy and no allocation for a message; with dead letters, a copy of what was read.
/// Lifetime: messages may outlive it. Without close() the destructor leaves the group, and blocks its thread for that.
class source {
public:
    using value_type = message;

    source(const consumer_options& member, std::vector<std::string> topics, source_options options = {});
    source(source&&) noexcept;
    source& operator=(source&&) noexcept;
    ~source();

    [[nodiscard]] call<bool> read(environment& here, stream::batch<message>& into, std::size_t most);
    [[nodiscard]] std::string partition_name(std::uint32_t p) const;
    /// A run begins where the group has committed.
    /// Errors: std::invalid_argument where another run has read.
    [[nodiscard]] call<void> rewind(environment& here, const stream::positions& to);
    /// A partition begins there when it is first assigned.
    [[nodiscard]] call<void> seek(environment& here, const stream::positions& to);
    [[nodiscard]] call<void> commit(environment& here, const stream::positions& done);
    [[nodiscard]] std::optional<stream::partition_change> take_change();
    [[nodiscard]] call<void> release(environment& here, std::uint32_t p);

    /// Leaves the group, when the job has ended: its partitions go to others at once.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment& here);

private:
    friend class detail::kafka_transaction;
    std::unique_ptr<detail::kafka_input> state_;
};
static_assert(stream::rebalanced_source<source> && stream::seekable_source<source> && stream::rewinding_source<source>);

}  // namespace kafka
}  // namespace coflux
