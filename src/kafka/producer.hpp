// kafka_producer: a client, the messages that it was given, and what was reported of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <coflux/base/atomic.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/sync/mutex.hpp>

#include "client.hpp"

namespace coflux::detail {

class kafka_producer {
public:
    explicit kafka_producer(const kafka::producer_options& options);

    /// False: there is no room. Errors: as producer::send().
    bool produce(const kafka::outgoing& m);
    /// Counts what was reported, up to some thousand messages. True: there is no more to count now.
    /// Pre: the caller owns `taking`.
    bool take_reports() noexcept;
    /// Counts some of what was reported, if that is due and no coroutine does so already.
    void take_some_reports() noexcept;

    /// All that was sent is reported.
    /// Pre: the caller owns `taking`.
    [[nodiscard]] bool is_flushed() const noexcept {
        return reported_.load(memory_order_relaxed) >= sent_.load(memory_order_relaxed);
    }
    /// Throws the first failure since the last call, or what has ended the client and so caused it.
    /// Pre: the caller owns `taking`.
    void throw_failure();
    /// Pre: as throw_failure().
    void forget_failures() noexcept {
        failure_.reset();
        failures_ = 0;
    }
    [[nodiscard]] kafka::deliveries counters() const noexcept;

    const kafka_share client;
    const std::chrono::milliseconds transaction_timeout;
    const bool lingers;
    atomic<bool> is_in_transaction{false};  // from begin_transaction() to what ends it
    coflux::mutex taking;                   // its owner takes reports, and alone waits for the client's event

private:
    void count(const rd_kafka_message_t& m) noexcept;

    const std::size_t most_bytes_;  // as librdkafka has them
    const bool is_transactional_;
    // Counters: relaxed, because the lock of the queue, and `taking`, order what they are compared for.
    atomic<std::uint64_t> sent_{0};      // raised before a message is given to librdkafka, and lowered if it is refused
    atomic<std::uint64_t> reported_{0};  // written by the owner of `taking`
    atomic<std::uint64_t> failed_{0};    // of those; written by the owner of `taking`
    // The owner of `taking` has not told it yet.
    std::optional<kafka::error> failure_;
    std::uint64_t failures_ = 0;
};

}  // namespace coflux::detail
