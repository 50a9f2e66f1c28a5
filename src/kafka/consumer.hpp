// kafka_consumer: what a consumer owns: a client, the change that was not answered, and what is assigned.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/kafka/consumer.hpp>

#include "client.hpp"

namespace coflux::detail {

/// One coroutine at a time polls, or acknowledges.
class polling_turn {
public:
    explicit polling_turn(atomic<bool>& taken) : taken_(taken) {
        COFLUX_VERIFY(!taken_.exchange(true, memory_order_acquire),  // pairs with the release below
                      "two coroutines poll, or acknowledge, one Kafka consumer");
    }
    polling_turn(const polling_turn&) = delete;
    polling_turn& operator=(const polling_turn&) = delete;
    ~polling_turn() { taken_.store(false, memory_order_release); }

private:
    atomic<bool>& taken_;
};

class kafka_consumer {
public:
    static constexpr std::size_t most_of_a_poll = 100'000;

    explicit kafka_consumer(const kafka::consumer_options& options);
    kafka_consumer(const kafka_consumer&) = delete;
    kafka_consumer& operator=(const kafka_consumer&) = delete;
    /// Blocks. librdkafka 2.0.2 ends no client that has a change which was not answered, so it is not asked to.
    ~kafka_consumer() { leave(); }

    /// Takes what there is, without waiting: messages, or what is not one and is in front of them; else nothing.
    [[nodiscard]] kafka::polled take(std::vector<kafka::message>& into, std::size_t most);
    /// Nothing but messages and errors can come: no change, and no end.
    [[nodiscard]] bool gives_batches() const noexcept {
        // relaxed: the program's own order has the subscription in front of what comes of it.
        return !reports_end_ && !joins.load(memory_order_relaxed);
    }
    /// Takes messages, which are valid until the next call. They are the caller's, and a share of the client for each.
    /// Pre: gives_batches(), and no pause() or seek() meanwhile: librdkafka 2.0.2 then drops what it has taken
    /// (librdkafka#4208). No positions() behind an error: from 2.1 on it counts as a message there.
    [[nodiscard]] std::span<rd_kafka_message_t* const> take_batch(std::size_t most);
    /// The change that poll() gave, until it is acknowledged.
    [[nodiscard]] const std::optional<kafka::polled>& unanswered() const noexcept { return unanswered_; }

    // These block.
    void answer(const kafka::polled& change);
    void assign(const std::vector<kafka::position>& partitions);

    [[nodiscard]] std::vector<kafka::position> assigned() const;

    const kafka_share client;
    const std::chrono::milliseconds looks_each;
    atomic<bool> is_polled{false};  // true from the beginning of a poll() or acknowledge() to its end
    atomic<bool> joins{false};      // true from the first subscribe()

private:
    void leave() noexcept;
    [[nodiscard]] bool divides_cooperatively() const noexcept;
    /// False: nothing that the caller must know.
    bool told_by(rd_kafka_event_t& e, kafka::polled& got);

    const bool reports_end_;
    // Used by the coroutine that polls.
    kafka_owned<rd_kafka_event_t> set_aside_;
    std::vector<rd_kafka_message_t*> batch_;
    std::optional<kafka::polled> unanswered_;
    bool was_given_ = false;  // true from the first assignment of the group

    mutable mutex lock_;
    std::vector<kafka::position> assigned_;  // under lock_
};

}  // namespace coflux::detail
