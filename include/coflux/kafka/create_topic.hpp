// kafka::create_topic: makes a topic.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/kafka/options.hpp>

namespace coflux::kafka {

/// How a topic is made.
struct topic_options {
    std::string name = {};
    std::int32_t partitions = 1;
    std::int32_t replicas = 1;
    /// The topic's settings, by Kafka's names: `{"cleanup.policy", "compact"}`.
    std::vector<std::pair<std::string, std::string>> settings = {};
};

/// `co_await kafka::create_topic(here, {.brokers = "host:9092"}, {.name = "orders", .partitions = 8})`
/// Errors: kafka::error: errc::topic_exists, and what the brokers refuse; no answer within request_timeout.
/// Stops: a stop point before it begins; then it ends, and the coroutine stops.
call<void> create_topic(environment& env, client_options client, topic_options topic);

}  // namespace coflux::kafka
