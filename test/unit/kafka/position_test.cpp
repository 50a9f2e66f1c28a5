// kafka::position.
#include <coflux/kafka/position.hpp>

#include <gtest/gtest.h>

namespace {

namespace kafka = coflux::kafka;

TEST(kafka_position, is_an_offset_or_a_rule) {
    EXPECT_TRUE(kafka::position("orders", 2, 7).has_offset());
    EXPECT_TRUE(kafka::position("orders", 2, 0).has_offset());
    EXPECT_FALSE(kafka::position("orders", 2).has_offset());
    EXPECT_FALSE(kafka::position("orders", 2, kafka::place::beginning).has_offset());
    EXPECT_EQ(kafka::position("orders", 2), kafka::position("orders", 2, kafka::place::none));
    EXPECT_NE(kafka::position("orders", 2, 1), kafka::position("orders", 1, 1));
}

}  // namespace
