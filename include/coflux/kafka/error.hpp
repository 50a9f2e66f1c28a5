// kafka::error: what a broker, or librdkafka itself, says went wrong.
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

namespace coflux::kafka {

/// Errors that programs tell apart, with librdkafka's own numbers. All others have theirs in kafka::category().
enum class errc {
    all_brokers_down = -187,   ///< no broker can be reached
    connection_failed = -195,  ///< to one broker, or to all that were tried
    timed_out = -185,          ///< no answer in time
    message_timed_out = -192,  ///< a message was not delivered in its time
    purged = -152,             ///< a message was dropped with its transaction
    fenced = -144,             ///< another producer has the transactional id, or another member the instance
    offset_out_of_range = 1,   ///< and there is no rule where to begin
    unknown_topic = 3,
    message_too_large = 10,
    illegal_generation = 22,     ///< the group was divided anew without this member
    unknown_member = 25,         ///< the group has gone on without this member
    rebalance_in_progress = 27,  ///< the group is being divided anew
    topic_exists = 36,
    not_allowed = 29,  ///< the topic's rules refuse this client
};

/// The category of errc, and of all other numbers of librdkafka (`rd_kafka_resp_err_t`).
[[nodiscard]] const std::error_category& category() noexcept;
[[nodiscard]] std::error_code make_error_code(errc e) noexcept;

/// The remedies of an error.
struct error_traits {
    bool is_retriable = false;    ///< the same operation may succeed later
    bool is_fatal = false;        ///< the client cannot go on: close it, and make another one
    bool requires_abort = false;  ///< the transaction cannot be committed: abort it
};

/// An error of Kafka. The text has the operation, librdkafka's name of the error and its reason.
class error : public std::system_error {
public:
    error(std::error_code code, const std::string& what, error_traits traits = {})
        : std::system_error(code, what),
          traits_(traits) {}

    /// As librdkafka and Kafka's protocol name it: `UNKNOWN_TOPIC_OR_PART`, `_TRANSPORT`.
    [[nodiscard]] const char* name() const noexcept;
    [[nodiscard]] bool is_retriable() const noexcept { return traits_.is_retriable; }
    [[nodiscard]] bool is_fatal() const noexcept { return traits_.is_fatal; }
    [[nodiscard]] bool requires_abort() const noexcept { return traits_.requires_abort; }

private:
    error_traits traits_;
};

}  // namespace coflux::kafka

template <>
struct std::is_error_code_enum<coflux::kafka::errc> : std::true_type {};
