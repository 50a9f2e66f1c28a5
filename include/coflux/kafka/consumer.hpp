// kafka::consumer: messages of topics, as a member of a group.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/kafka/message.hpp>
#include <coflux/kafka/options.hpp>
#include <coflux/kafka/position.hpp>

namespace coflux {
namespace detail {
class kafka_consumer;
class kafka_input;
}  // namespace detail

namespace kafka {

/// How a group divides partitions anew.
enum class rebalancing {
    cooperative,  ///< what a member keeps it goes on with; all members of a group must have it
    eager,        ///< each member gives back all, and gets others
};
/// Where a partition begins that the group has not committed.
enum class start_at { beginning, end, nowhere };

/// How a consumer is made.
struct consumer_options {
    client_options client = {};
    std::string group = {};  ///< members of a group divide the partitions
    std::string instance =
        {};  ///< static membership: a member that comes back in time under this name keeps its partitions
    rebalancing protocol = rebalancing::cooperative;
    start_at start = start_at::beginning;  ///< nowhere: it is the error errc::offset_out_of_range
    /// A member whose heartbeats stay away for so long is dead. They are sent beside the program's own work.
    std::chrono::milliseconds session_timeout = std::chrono::seconds(45);
    /// A member that does not poll for so long gives up its partitions. The longest unless given: a slow member is none
    /// that is dead.
    std::chrono::milliseconds poll_timeout = std::chrono::hours(24);
    /// Messages of transactions that were not committed are not seen.
    bool reads_committed = true;
    /// poll() also tells where a partition has come to its end for now.
    bool reports_end = false;
};

/// The result of a poll().
struct polled {
    enum class kind {
        messages,  ///< `count` of them are behind what was in the vector
        assigned,  ///< these partitions are the member's, and begin at these positions
        revoked,   ///< these go to other members: work off what there is, commit, acknowledge
        lost,      ///< these went to other members: drop what was not committed, acknowledge
        end,       ///< this partition has no more for now
    };
    kind what = kind::messages;
    std::size_t count = 0;
    std::vector<position> partitions = {};

    /// It must be acknowledged.
    [[nodiscard]] bool is_change() const noexcept {
        return what == kind::assigned || what == kind::revoked || what == kind::lost;
    }
};

/// The offsets between which a partition has messages.
struct watermarks {
    std::int64_t low = 0;   ///< of the first
    std::int64_t high = 0;  ///< behind the last
};

/// A member of a group, or the reader of given partitions.
///
/// Nothing is committed but by commit(). Heartbeats are sent by a thread of librdkafka, so that a slow message costs no
/// membership.
///
/// Shapes: owns its client; movable, also while an operation waits. One coroutine at a time polls and acknowledges.
/// Errors: kafka::error with the operation, librdkafka's name and its reason. A connection that is lost is made again,
/// and no error; last_complaint() has what librdkafka said last. Two coroutines that poll, and an operation of a
/// consumer that is closed, are checked errors.
/// Stops: each operation is a stop point; docs/design/kafka.md says what is lost.
/// Threads: any. Calls of librdkafka that block are made on threads of blocking_pool::shared().
/// Costs: two threads of librdkafka, and one for each broker. A message costs no copy, and no allocation of ours.
/// Lifetime: messages may outlive it. Without close() the destructor does the same, and blocks its thread for that.
class consumer {
public:
    /// None, to be assigned to.
    consumer() noexcept;
    /// Errors: std::invalid_argument for a setting that librdkafka does not know or take, or that is refused here.
    explicit consumer(const consumer_options& options);
    consumer(consumer&& other) noexcept;
    consumer& operator=(consumer&& other) noexcept;
    ~consumer();

    /// Joins the group for these topics, which poll() then divides; `^orders.*` is a pattern. A topic that does not
    /// exist is an error of poll().
    /// Errors: where no broker answers within request_timeout, with the reason.
    call<void> subscribe(environment& env, std::vector<std::string> topics);
    /// Reads these partitions, each from its position, and joins no group.
    /// Errors: as subscribe().
    call<void> assign(environment& env, std::vector<position> partitions);

    /// Waits until there is something, and gives messages, at most `most` and in order for each partition, behind those
    /// in `into`; or a change of the assignment, or an end. Acknowledges the change before, if that was not done.
    /// Errors: of a topic or of the group. Polling may go on where they are not fatal. std::bad_alloc, with nothing
    /// taken.
    /// Stops: loses nothing.
    /// Costs: some 0.3 µs a message, in one step.
    call<polled> poll(environment& env, std::vector<message>& into, std::size_t most = 1000);
    /// Answers a change: takes the partitions, from the positions in it, or gives them back. Until then the group
    /// waits.
    /// Errors: of librdkafka. Without effect where `change` is none, or was acknowledged.
    call<void> acknowledge(environment& env, const polled& change);

    /// Commits: the group begins there, so it is the offset behind the last message that is done.
    /// Errors: errc::unknown_member, errc::rebalance_in_progress: the partition may have gone to another member.
    /// Stops: the answer is lost.
    call<void> commit(environment& env, std::span<const position> positions);
    /// The group's committed positions in these partitions: place::none where there is none.
    call<std::vector<position>> committed(environment& env, std::span<const position> partitions);
    /// The partitions that it has, each with the offset behind the last message that poll() gave; place::none before.
    [[nodiscard]] std::vector<position> positions() const;

    /// poll() gives no messages of these partitions any more. Messages that it has taken by then are the caller's.
    call<void> pause(environment& env, std::span<const position> partitions);
    call<void> resume(environment& env, std::span<const position> partitions);
    /// These partitions go on from these positions.
    call<void> seek(environment& env, std::span<const position> positions);
    /// The offsets of the first messages that are not older: for seek(), assign() and acknowledge(). place::end where
    /// there is none.
    call<std::vector<position>> offsets_at(environment& env, std::span<const position> partitions,
                                           std::chrono::system_clock::time_point time);
    /// Where a partition begins and ends now.
    call<watermarks> bounds(environment& env, const position& partition);
    /// How many partitions a topic has.
    /// Errors: errc::unknown_topic.
    call<std::int32_t> partition_count(environment& env, std::string_view topic);

    /// Leaves the group, unless it is a static member, and ends the client. It commits nothing. Changes that come
    /// meanwhile are acknowledged.
    /// Stops: it ends, and then the coroutine stops.
    /// Pre: no other operation waits.
    call<void> close(environment& env);

    [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
    /// The last complaint of librdkafka, as of a broker that cannot be reached; empty if there was none.
    [[nodiscard]] std::string last_complaint() const;

private:
    friend class producer;
    friend class detail::kafka_input;
    [[nodiscard]] detail::kafka_consumer& get() const noexcept;

    std::unique_ptr<detail::kafka_consumer> state_;
};

}  // namespace kafka
}  // namespace coflux
