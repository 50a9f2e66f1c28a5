// kafka_input: what both sources have: a consumer, the partitions by number, and where they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>

#include "client.hpp"

namespace coflux::detail {

/// As `orders/2`.
[[nodiscard]] std::string stream_name_of(std::string_view topic, std::int32_t partition);
/// Errors: std::invalid_argument for what is no such name.
[[nodiscard]] kafka::position position_of(const stream::position& at);

class kafka_input;
/// Errors: std::invalid_argument where a run has read: what it has not committed would be skipped.
void require_new(const kafka_input& of);

class kafka_input {
public:
    kafka_input(const kafka::consumer_options& options, kafka::source_options where)
        : in(options),
          where_(where),
          request_timeout_(options.client.request_timeout) {}

    /// The number of a partition, which it keeps.
    std::uint32_t number_of(std::string_view topic, std::int32_t partition);
    [[nodiscard]] std::string name_of(std::uint32_t number) const;
    void set_owned(std::uint32_t number, bool owned);

    /// Notes where a partition begins.
    void seek(kafka::position to) { sought_.push_back(std::move(to)); }
    /// Sets the places to begin that are not the group's to say.
    [[nodiscard]] call<void> begin_at(environment& here, std::vector<kafka::position>& partitions);
    /// Puts messages into the batch, or gives a change or an end of the consumer.
    [[nodiscard]] call<kafka::polled> poll(environment& here, stream::batch<kafka::message>& into, std::size_t most);
    /// Commits those of `done` that it owns.
    [[nodiscard]] call<void> commit(environment& here, const stream::positions& done);

    kafka::consumer in;
    std::vector<std::string> topics;          // of a member of a group
    std::vector<kafka::position> partitions;  // of a partition_source
    bool has_begun = false;
    std::optional<kafka::polled> unanswered;  // a change that was not acknowledged
    std::size_t unreleased = 0;               // of its partitions, where they are revoked
    std::deque<stream::partition_change> changes;
    atomic<bool> is_in_transactions{false};  // true from when a transactional sink is made for it: the sink commits

private:
    struct partition {
        std::string topic;
        std::int32_t number;
        bool is_owned = false;
    };
    void put(stream::batch<kafka::message>& into);
    /// Pre: there is room, and the partitions are known.
    void put(stream::batch<kafka::message>& into, std::span<rd_kafka_message_t* const> all, kafka_client& of) noexcept;
    [[nodiscard]] std::vector<kafka::position> owned_of(const stream::positions& done) const;

    const kafka::source_options where_;
    const std::chrono::milliseconds request_timeout_;
    std::vector<kafka::position> sought_;
    std::uint32_t last_ = 0;                // the one of the last message
    std::vector<kafka::message> messages_;  // polled, until they are put
    mutable mutex lock_;
    std::vector<partition> known_;  // written under lock_ by the reader, which alone reads it without
};

}  // namespace coflux::detail
