// kafka::producer: messages to topics, and transactions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/kafka/message.hpp>
#include <coflux/kafka/options.hpp>
#include <coflux/kafka/position.hpp>

namespace coflux {
namespace detail {
class kafka_producer;
}  // namespace detail

namespace kafka {

/// How a producer is made. It is idempotent: what it sends again is there once, and in order.
struct producer_options {
    client_options client = {};
    /// A producer with transactions has one: a second one with the same id fences the first, and ends its transaction.
    std::string transactional_id = {};
    /// So many messages, and so much of them, may wait to be delivered; then send() waits.
    std::size_t most_messages = 100'000;
    std::size_t most_bytes = std::size_t{64} << 20;
    std::chrono::milliseconds linger = std::chrono::milliseconds(5);  ///< how long a batch waits to be filled
    /// A message that is not delivered by then is an error of flush().
    std::chrono::milliseconds delivery_timeout = std::chrono::minutes(2);
    /// How long commit and the other operations of transactions are tried, and how long brokers keep one open.
    std::chrono::milliseconds transaction_timeout = std::chrono::seconds(60);
};

/// A message to send. It is copied; a std::string or a literal converts to key and value.
struct outgoing {
    static constexpr std::int32_t any_partition = -1;

    std::string_view topic;
    std::int32_t partition = any_partition;  ///< any: by the hash of the key, without a key at random
    std::optional<std::string_view> key = {};
    std::optional<std::string_view> value = {};  ///< none is a tombstone
    std::span<const header> headers = {};
    std::optional<std::chrono::sys_time<std::chrono::milliseconds>> time = {};  ///< now unless given
};

/// The fate of a producer's messages.
struct deliveries {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
};

/// Sends messages, which brokers acknowledge later.
///
/// Shapes: owns its client; movable, also while an operation waits. Any number of coroutines send and flush; one at a
/// time has the transaction.
/// Errors: kafka::error with the operation, librdkafka's name and its reason. A message that cannot be delivered is an
/// error of the next flush(), or commit_transaction(). An operation of a producer that is closed is a checked error.
/// Stops: each operation is a stop point; docs/design/kafka.md says what is lost.
/// Threads: any. Calls of librdkafka that block are made on threads of blocking_pool::shared().
/// Costs: one thread of librdkafka, and one for each broker. A message is copied once.
/// Lifetime: without flush() or close(), what was not delivered is lost with it; the destructor waits for threads of
/// librdkafka.
class producer {
public:
    /// None, to be assigned to.
    producer() noexcept;
    /// Errors: std::invalid_argument for a setting that librdkafka does not know or take, or that is refused here.
    explicit producer(const producer_options& options);
    producer(producer&& other) noexcept;
    producer& operator=(producer&& other) noexcept;
    ~producer();

    /// Looks whether a broker answers. send() needs it not: messages wait for a broker until delivery_timeout.
    /// Errors: where none answers within request_timeout, with the reason.
    call<void> connect(environment& env);

    /// Gives a message to be delivered, and waits only where there is no room.
    /// Errors: the message itself cannot be sent, as errc::message_too_large.
    /// Stops: where it waits: the message was not sent.
    call<void> send(environment& env, const outgoing& m);
    /// The same, if there is room: false where there is none.
    /// Errors: as send().
    /// Costs: some 0.5 µs.
    bool try_send(const outgoing& m);
    /// Waits until all that was sent is delivered, or cannot be; also what is sent meanwhile. Nothing lingers for that
    /// time.
    /// Errors: the first reason of those that were not delivered since the last flush(), and how many there are;
    /// is_fatal() where what ended the producer is the reason, as errc::fenced.
    /// Stops: loses nothing.
    call<void> flush(environment& env);
    [[nodiscard]] deliveries counters() const noexcept;

    /// First of all for a producer with a transactional id: ends what another one of this id has left, and fences it.
    /// Errors, Stops: docs/design/kafka.md has the retries; after a stop the next call goes on.
    call<void> init_transactions(environment& env);
    call<void> begin_transaction(environment& env);
    /// The positions of `of` are committed with the transaction, or not at all. Its members must not commit() beside.
    /// Errors: errc::unknown_member, with requires_abort(), where `of` has subscribed and the group has gone on without
    /// it: its partitions are another member's.
    call<void> send_positions(environment& env, const consumer& of, std::span<const position> positions);
    /// Delivers what was sent, and commits.
    /// Errors: requires_abort(): abort it. is_fatal(): another producer has the id; close this one.
    call<void> commit_transaction(environment& env);
    /// Drops what was not delivered, and ends the transaction: none of its messages is seen by those who read
    /// committed.
    call<void> abort_transaction(environment& env);

    /// Ends the client. It flushes nothing.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment& env);

    [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
    /// The last complaint of librdkafka, as of a broker that cannot be reached; empty if there was none.
    [[nodiscard]] std::string last_complaint() const;

private:
    [[nodiscard]] detail::kafka_producer& get() const noexcept;

    std::unique_ptr<detail::kafka_producer> state_;
};

}  // namespace kafka
}  // namespace coflux
