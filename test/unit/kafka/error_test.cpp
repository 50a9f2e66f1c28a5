// kafka::error.
#include <coflux/kafka/error.hpp>

#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace {

namespace kafka = coflux::kafka;

TEST(kafka_error, has_librdkafkas_number_name_and_text) {
    const kafka::error e(kafka::errc::unknown_topic, "coflux: Kafka: poll");
    EXPECT_EQ(e.code().value(), 3);
    EXPECT_STREQ(e.name(), "UNKNOWN_TOPIC_OR_PART");
    EXPECT_STREQ(e.code().category().name(), "coflux.kafka");
    EXPECT_EQ(e.code().message(), "Broker: Unknown topic or partition");
    EXPECT_EQ(std::string(e.what()), "coflux: Kafka: poll: Broker: Unknown topic or partition");
    EXPECT_FALSE(e.is_retriable() || e.is_fatal() || e.requires_abort());
}

TEST(kafka_error, is_a_system_error_that_tells_what_can_be_done) {
    try {
        throw kafka::error(kafka::errc::fenced, "x", {.is_fatal = true});
    } catch (const std::system_error& e) {
        EXPECT_TRUE(e.code() == kafka::errc::fenced);
        EXPECT_TRUE(static_cast<const kafka::error&>(e).is_fatal());
    }
}

}  // namespace
