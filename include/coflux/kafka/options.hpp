// kafka::client_options: what a consumer, a producer and the making of topics have in common.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coflux::kafka {

/// A line of librdkafka's log.
struct log_line {
    int level = 6;  ///< as syslog's: 3 is an error, 6 a note, 7 for debugging
    std::string_view facility;
    std::string_view text;
};

/// How a client reaches its brokers.
struct client_options {
    std::string brokers = {};          ///< `host:port`, some of them, with commas; the others are found by these
    std::string client_id = "coflux";  ///< what brokers log
    /// How long an operation waits for an answer of the brokers. A connection that is lost later is made again for
    /// ever.
    std::chrono::milliseconds request_timeout = std::chrono::seconds(10);
    /// Further settings, by librdkafka's names: `{"security.protocol", "ssl"}`. Those that the classes here rely upon
    /// are refused, each with the option to use.
    std::vector<std::pair<std::string, std::string>> settings = {};
    /// Called with each line of the log, on a thread of librdkafka. It must not throw or call this client. Without it
    /// nothing is logged: errors are thrown.
    std::function<void(const log_line&)> on_log = {};
};

}  // namespace coflux::kafka
