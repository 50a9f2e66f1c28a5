#include <coflux/io/datagram_types.hpp>

#include <gtest/gtest.h>

namespace {

TEST(datagram, is_truncated_where_there_was_less_room_than_bytes) {
    coflux::datagram got;
    EXPECT_FALSE(got.is_truncated());
    got.size = got.whole = 3;
    EXPECT_FALSE(got.is_truncated());
    got.whole = 4;
    EXPECT_TRUE(got.is_truncated());
}
TEST(datagram, goes_where_its_socket_is_connected_to_if_nothing_is_said) {
    EXPECT_EQ(coflux::outgoing_datagram().to, coflux::endpoint());
}

}  // namespace
