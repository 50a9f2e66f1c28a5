// kafka::message: what a consumer gets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/kafka/position.hpp>

namespace coflux {
namespace detail {
class kafka_consumer;
class kafka_client;
class kafka_input;
}  // namespace detail

namespace kafka {

/// A name and a value beside a message's own. Null is no value; an empty one is one.
struct header {
    std::string_view name;
    std::optional<std::string_view> value;
};

/// A message, in librdkafka's memory: key, value and headers are views into it.
///
/// Shapes: owns the memory, and keeps the client that it came from; move-only.
/// Threads: any, one at a time.
/// Costs: no copy. The last message of a client that has died frees it, which waits for threads of librdkafka.
/// Lifetime: views are valid as long as the message, also where it is moved.
class message {
public:
    /// None yet, to be assigned to.
    message() noexcept = default;
    message(message&& other) noexcept
        : event_(std::exchange(other.event_, nullptr)),
          raw_(std::exchange(other.raw_, nullptr)),
          of_(std::exchange(other.of_, nullptr)),
          key_(std::exchange(other.key_, {})),
          value_(std::exchange(other.value_, {})),
          offset_(other.offset_),
          partition_(other.partition_) {}
    message& operator=(message&& other) noexcept {
        message taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~message() {
        if (raw_ != nullptr) destroy();
    }

    [[nodiscard]] std::string_view topic() const noexcept;
    [[nodiscard]] std::int32_t partition() const noexcept { return partition_; }
    [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
    /// Null is no key.
    [[nodiscard]] bool has_key() const noexcept { return key_.data() != nullptr; }
    [[nodiscard]] std::string_view key() const noexcept { return key_; }
    /// Null, a tombstone, is no value: in a compacted topic it deletes the key.
    [[nodiscard]] bool has_value() const noexcept { return value_.data() != nullptr; }
    [[nodiscard]] std::string_view value() const noexcept { return value_; }
    /// When it was made, or where the topic says so, appended; none from old producers.
    [[nodiscard]] std::optional<std::chrono::sys_time<std::chrono::milliseconds>> time() const noexcept;

    [[nodiscard]] std::size_t header_count() const noexcept;
    /// In the order in which they were sent.
    /// Pre: `i` < header_count().
    [[nodiscard]] kafka::header header(std::size_t i) const noexcept;
    /// The last of that name, or none.
    [[nodiscard]] std::optional<kafka::header> find_header(std::string_view name) const noexcept;

private:
    friend class detail::kafka_consumer;
    friend class detail::kafka_input;
    /// A share of the client was taken for it. `event` is null for a message that came in a batch.
    message(void* event, const void* raw, detail::kafka_client& of) noexcept;
    void swap(message& other) noexcept {
        std::swap(event_, other.event_);
        std::swap(raw_, other.raw_);
        std::swap(of_, other.of_);
        std::swap(key_, other.key_);
        std::swap(value_, other.value_);
        std::swap(offset_, other.offset_);
        std::swap(partition_, other.partition_);
    }
    void destroy() noexcept;

    void* event_ = nullptr;      // rd_kafka_event_t, which has the message; null where it came in a batch
    const void* raw_ = nullptr;  // rd_kafka_message_t
    detail::kafka_client* of_ = nullptr;
    std::string_view key_;
    std::string_view value_;
    std::int64_t offset_ = -1;
    std::int32_t partition_ = -1;
};

/// The argument of commit() and send_positions() for these messages: for each partition the offset behind the last of
/// them.
/// Costs: one comparison for each message and partition.
[[nodiscard]] std::vector<position> positions_behind(std::span<const message> messages);

}  // namespace kafka
}  // namespace coflux
