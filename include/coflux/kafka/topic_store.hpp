// kafka::topic_store: checkpoints of a stream job in a compacted topic.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/position.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/checkpoint.hpp>

namespace coflux {
namespace detail {
class kafka_checkpoints;
}  // namespace detail

namespace kafka {

/// How a topic_store keeps checkpoints.
struct topic_store_options {
    std::size_t piece = std::size_t{512} << 10;  ///< bytes of a message; below the limits of topic and producer
    bool use_older = false;  ///< where the last one cannot be read, the one before is used; otherwise it is an error
};

/// Checkpoints in a partition of a compacted topic, which any process can read: the next one that runs the job begins
/// with the state that the last one has left, on whichever machine.
///
/// Each slot is some messages, and is sent again only where it has changed. A checkpoint is a transaction, so it is
/// there as a whole, or not at all, and whoever loads fences the process that has stored before. That holds where every
/// process has the same transactional_id for this partition, and for no other one. The two last ones can be loaded.
///
/// `topic_store(producer, at, job)` has transactions of its own. `topic_store(sink, at, job)` takes those of a
/// transactional_sink, for a job that is exactly once: outputs, positions and state are one commit.
///
/// Shapes: a handle; copies are the same store. The partition belongs to the job alone. The topic is made with
/// `{"cleanup.policy", "compact"}`: one that deletes by age loses states that do not change.
/// Errors: kafka::error; is_fatal() where another process has loaded since. corrupt_state, with partition and key, for
/// a checkpoint that is not whole, was changed, or is of another job or a newer version; and, beside a sink, from the
/// first store() where the group of the source has lost the positions of a checkpoint. std::invalid_argument for a
/// producer without a transactional_id, no job, and pieces of no bytes.
/// Stops: within 500 ms where a broker is asked. A store that is stopped has stored the checkpoint or not.
/// Threads: one coroutine at a time.
/// Costs: a load reads the partition from its beginning, so what was not compacted yet, too. It holds both places of
/// each slot and the joined copy: up to three times the state. A store of its own transaction takes some round trips,
/// and what a checkpoint sends must be sent within transaction_timeout. It is copied once.
/// Lifetime: the sink outlives it.
class topic_store {
public:
    topic_store(producer_options own, position at, std::string job, topic_store_options options = {});
    template <typename Encode>
    topic_store(transactional_sink<Encode>& with, position at, std::string job, topic_store_options options = {})
        : topic_store(with.transaction_, std::move(at), std::move(job), options) {}

    [[nodiscard("nothing is stored until this is awaited: co_await it")]] call<void> store(environment& here,
                                                                                           const stream::checkpoint& c);
    [[nodiscard("nothing is loaded until this is awaited: co_await it")]] call<std::optional<stream::checkpoint>>
    load(environment& here, const stream::positions* wanted);

    /// Ends its client, where it has one, when the job has ended.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment& here);

private:
    topic_store(coflux::detail::kafka_transaction& with, position at, std::string job, topic_store_options options);

    std::shared_ptr<coflux::detail::kafka_checkpoints> state_;
};
static_assert(stream::state_store<topic_store>);

}  // namespace kafka
}  // namespace coflux
