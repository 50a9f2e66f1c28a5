// kafka_consumer: what a consumer owns: a client, the change that was not answered, and what is assigned.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/kafka/consumer.hpp>

#include "client.hpp"

namespace coflux::detail {

class kafka_consumer {
public:
    explicit kafka_consumer(const kafka::consumer_options& options);
    kafka_consumer(const kafka_consumer&) = delete;
    kafka_consumer& operator=(const kafka_consumer&) = delete;
    /// Blocks. librdkafka 2.0.2 ends no client that has a change which was not answered, so it is not asked to.
    ~kafka_consumer() { leave(); }

    /// Takes what there is, without waiting: messages, or what is not one and is in front of them; else nothing.
    [[nodiscard]] kafka::polled take(std::vector<kafka::message>& into, std::size_t most);
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
    /// False: nothing that the caller must know.
    bool told_by(rd_kafka_event_t& e, kafka::polled& got);

    // Used by the coroutine that polls.
    kafka_owned<rd_kafka_event_t> set_aside_;
    std::optional<kafka::polled> unanswered_;

    mutable mutex lock_;
    std::vector<kafka::position> assigned_;  // under lock_
};

}  // namespace coflux::detail
