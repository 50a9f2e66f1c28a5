// Messages of a batch over UDP that the system cuts from one: how many it is given.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

using coflux::udp_socket;

/// The length of each message, and to which of two sockets it goes.
struct message {
    std::size_t length;
    bool to_the_second = false;
};

/// How many messages the system is given for these, all of which arrive as they are.
coflux::task<std::size_t, coflux::worker_executor> given_for(coflux::environment&, std::vector<message> all) {
    udp_socket from(coflux_test::own_loopback());
    udp_socket first(coflux_test::own_loopback());
    udp_socket second(coflux_test::own_loopback());
    const std::string bytes(70'000, 'x');
    std::vector<coflux::outgoing_datagram> batch;
    for (const message& m : all)
        batch.push_back(
            {std::as_bytes(std::span(bytes)).first(m.length), (m.to_the_second ? second : first).local_endpoint()});
    const std::size_t before = coflux_test::messages_of_batches();
    const std::size_t sent = co_await from.send_batch(batch);
    EXPECT_EQ(sent, all.size());
    const std::size_t given = coflux_test::messages_of_batches() - before;
    std::vector<std::byte> into(70'000);
    for (const message& m : all) {
        const coflux::datagram got = co_await (m.to_the_second ? second : first).receive_from(into);
        EXPECT_EQ(got.size, m.length);
    }
    co_return given;
}
std::vector<message> equal(std::size_t count, std::size_t length) {
    return std::vector<message>(count, message{length});
}

class united_batch : public testing::Test {
protected:
    void SetUp() override {
        const udp_socket any(coflux_test::own_loopback());
        int segment = 0;
        socklen_t size = sizeof segment;
        if (getsockopt(any.native_handle(), IPPROTO_UDP, UDP_SEGMENT, &segment, &size) != 0)
            GTEST_SKIP() << "the system cuts no messages";
    }
};

TEST_F(united_batch, is_one_message_where_all_have_one_length_and_one_destination) {
    EXPECT_EQ(coflux_test::on_a_worker(given_for, equal(20, 100)), 1U);
    EXPECT_EQ(coflux_test::on_a_worker(given_for, equal(2, 1)), 1U);
}
TEST_F(united_batch, is_one_message_where_the_last_is_shorter) {
    auto all = equal(7, 100);
    all.push_back({99});
    EXPECT_EQ(coflux_test::on_a_worker(given_for, all), 1U);
}
TEST_F(united_batch, is_a_message_for_each_length) {
    auto all = equal(5, 100);
    all.resize(10, message{200});
    EXPECT_EQ(coflux_test::on_a_worker(given_for, all), 2U);
}
TEST_F(united_batch, is_as_many_messages_as_their_bytes_need) {
    EXPECT_EQ(coflux_test::on_a_worker(given_for, equal(4, 30'000)), 2U);
}
TEST_F(united_batch, is_a_message_for_each_destination_in_turn) {
    std::vector<message> all;
    for (int i = 0; i < 10; ++i) all.push_back({100, i % 2 == 1});
    EXPECT_EQ(coflux_test::on_a_worker(given_for, all), 10U);
}

}  // namespace
