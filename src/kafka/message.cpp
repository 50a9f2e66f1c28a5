#include <coflux/kafka/message.hpp>

#include <algorithm>
#include <string>

#include <librdkafka/rdkafka.h>

#include "client.hpp"

namespace coflux::kafka {
namespace {

const rd_kafka_message_t& of(const void* raw) noexcept {
    return *static_cast<const rd_kafka_message_t*>(raw);
}
std::string_view bytes(const void* from, std::size_t size) noexcept {
    return {static_cast<const char*>(from), size};
}
rd_kafka_headers_t* headers_of(const void* raw) noexcept {
    rd_kafka_headers_t* found = nullptr;
    return rd_kafka_message_headers(&of(raw), &found) == RD_KAFKA_RESP_ERR_NO_ERROR ? found : nullptr;
}

}  // namespace

message::message(void* event, const void* raw, detail::kafka_client& client) noexcept
    : event_(event),
      raw_(raw),
      of_(&client),
      key_(bytes(of(raw).key, of(raw).key_len)),
      value_(bytes(of(raw).payload, of(raw).len)),
      offset_(of(raw).offset),
      partition_(of(raw).partition) {}

void message::destroy() noexcept {
    if (event_ != nullptr) {
        rd_kafka_event_destroy(static_cast<rd_kafka_event_t*>(event_));
    } else {
        rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(const_cast<void*>(raw_)));
    }
    of_->drop();
}

std::string_view message::topic() const noexcept {
    return raw_ == nullptr ? std::string_view() : rd_kafka_topic_name(of(raw_).rkt);
}

std::optional<std::chrono::sys_time<std::chrono::milliseconds>> message::time() const noexcept {
    if (raw_ == nullptr) return std::nullopt;
    rd_kafka_timestamp_type_t type{};
    const std::int64_t at = rd_kafka_message_timestamp(&of(raw_), &type);
    if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE) return std::nullopt;
    return std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(at));
}

std::size_t message::header_count() const noexcept {
    rd_kafka_headers_t* const all = raw_ == nullptr ? nullptr : headers_of(raw_);
    return all == nullptr ? 0 : rd_kafka_header_cnt(all);
}
kafka::header message::header(std::size_t i) const noexcept {
    const char* name = "";
    const void* value = nullptr;
    std::size_t size = 0;
    if (rd_kafka_header_get_all(headers_of(raw_), i, &name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        value == nullptr)
        return {name, std::nullopt};
    return {name, bytes(value, size)};
}
std::optional<kafka::header> message::find_header(std::string_view name) const noexcept {
    for (std::size_t i = header_count(); i != 0; --i) {
        if (const kafka::header h = header(i - 1); h.name == name) return h;
    }
    return std::nullopt;
}

std::vector<position> positions_behind(std::span<const message> messages) {
    std::vector<position> found;
    for (const message& m : messages) {
        const std::string_view topic = m.topic();
        const auto at = std::ranges::find_if(
            found, [&](const position& p) { return p.partition == m.partition() && p.topic == topic; });
        if (at == found.end()) {
            found.emplace_back(std::string(topic), m.partition(), m.offset() + 1);
        } else {
            at->offset = std::max(at->offset, m.offset() + 1);
        }
    }
    return found;
}

}  // namespace coflux::kafka
