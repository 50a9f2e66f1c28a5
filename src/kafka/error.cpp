#include <coflux/kafka/error.hpp>

#include <librdkafka/rdkafka.h>

namespace coflux::kafka {
namespace {

class kafka_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "coflux.kafka"; }
    [[nodiscard]] std::string message(int value) const override {
        return rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(value));
    }
};

static_assert(static_cast<int>(errc::all_brokers_down) == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
static_assert(static_cast<int>(errc::connection_failed) == RD_KAFKA_RESP_ERR__TRANSPORT);
static_assert(static_cast<int>(errc::timed_out) == RD_KAFKA_RESP_ERR__TIMED_OUT);
static_assert(static_cast<int>(errc::message_timed_out) == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
static_assert(static_cast<int>(errc::purged) == RD_KAFKA_RESP_ERR__PURGE_QUEUE);
static_assert(static_cast<int>(errc::fenced) == RD_KAFKA_RESP_ERR__FENCED);
static_assert(static_cast<int>(errc::offset_out_of_range) == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
static_assert(static_cast<int>(errc::unknown_topic) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
static_assert(static_cast<int>(errc::message_too_large) == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
static_assert(static_cast<int>(errc::unknown_member) == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
static_assert(static_cast<int>(errc::rebalance_in_progress) == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
static_assert(static_cast<int>(errc::topic_exists) == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS);
static_assert(static_cast<int>(errc::not_allowed) == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);

}  // namespace

const std::error_category& category() noexcept {
    static const kafka_category the_one;
    return the_one;
}
std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), category()};
}

const char* error::name() const noexcept {
    return rd_kafka_err2name(static_cast<rd_kafka_resp_err_t>(code().value()));
}

}  // namespace coflux::kafka
