#include <coflux/channel/channel.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::receives;
using coflux_test::sends;
using coflux_test::sends_from;
using rendezvous = coflux::channel<int[]>;

TEST(channel_rendezvous, send_lasts_until_a_receiver_takes_the_value) {
    by_hand h;
    rendezvous ch;
    auto s = sends(h.env, borrowed(ch), 1);
    h.drive();
    EXPECT_FALSE(s.done());
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(h.executor.pending(), 1U) << "queued, not run inside the receive";
    h.drive();
    EXPECT_TRUE(s.get());
    EXPECT_EQ(ch.try_receive(), std::nullopt);
}

TEST(channel_rendezvous, receiver_that_waits_gets_the_value_from_the_send) {
    by_hand h;
    rendezvous ch;
    EXPECT_FALSE(ch.try_send(0)) << "there is no receiver";
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_TRUE(ch.try_send(1));
    EXPECT_FALSE(ch.try_send(2)) << "one receiver, one value";
    h.drive();
    EXPECT_EQ(r.get(), 1);
}

TEST(channel_rendezvous, serves_both_sides_first_come_first_served) {
    by_hand h;
    rendezvous ch;
    auto s1 = sends(h.env, borrowed(ch), 1);
    auto s2 = sends(h.env, borrowed(ch), 2);
    h.drive();
    auto r1 = receives(h.env, borrowed(ch));
    auto r2 = receives(h.env, borrowed(ch));
    auto r3 = receives(h.env, borrowed(ch));
    auto r4 = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_TRUE(s1.get());
    EXPECT_TRUE(s2.get());
    EXPECT_EQ(r1.get(), 1);
    EXPECT_EQ(r2.get(), 2);
    EXPECT_TRUE(ch.try_send(3));
    EXPECT_TRUE(ch.try_send(4));
    h.drive();
    EXPECT_EQ(r3.get(), 3);
    EXPECT_EQ(r4.get(), 4);
}

TEST(channel_rendezvous, close_wakes_senders_and_receivers) {
    by_hand h;
    coflux::channel<std::unique_ptr<int>[]> to_senders;
    auto kept = std::make_unique<int>(5);
    auto s = sends_from(h.env, borrowed(to_senders), borrowed(kept));
    rendezvous to_receivers;
    auto r = receives(h.env, borrowed(to_receivers));
    h.drive();
    to_senders.close();
    to_receivers.close();
    h.drive();
    EXPECT_FALSE(s.get());
    EXPECT_NE(kept, nullptr) << "a send that finds the channel closed has not moved from its value";
    EXPECT_EQ(r.get(), std::nullopt);
    EXPECT_TRUE(to_senders.drained()) << "what was not taken was not sent";
}

TEST(channel_rendezvous, stopped_operations_do_not_meet) {
    by_hand h;
    coflux::channel<std::unique_ptr<int>[]> ch;
    auto kept = std::make_unique<int>(5);
    auto s = sends_from(h.env, borrowed(ch), borrowed(kept));
    h.drive();
    s.request_stop();
    EXPECT_EQ(ch.try_receive(), std::nullopt);
    EXPECT_NE(kept, nullptr);
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    r.request_stop();
    EXPECT_FALSE(ch.try_send(std::move(kept)));
    EXPECT_NE(kept, nullptr);
    h.drive();
    EXPECT_THROW(s.get(), coflux::task_stopped);
    EXPECT_THROW(r.get(), coflux::task_stopped);
}

by_hand::task<int> plays(coflux::environment&, borrowed<rendezvous> in, borrowed<rendezvous> out, int rounds) {
    int last = 0;
    for (int i = 0; i < rounds; ++i) {
        last = *co_await in->receive();
        EXPECT_TRUE(co_await out->send(last + 1));
    }
    co_return last;
}

TEST(channel_rendezvous, two_players_meet_at_each_ball) {
    by_hand h;
    rendezvous a;
    rendezvous b;
    auto first = plays(h.env, borrowed(a), borrowed(b), 1000);
    auto second = plays(h.env, borrowed(b), borrowed(a), 1000);
    auto serves = sends(h.env, borrowed(a), 0);
    h.drive();
    EXPECT_TRUE(serves.get());
    EXPECT_EQ(first.get(), 1998);
    EXPECT_EQ(a.try_receive(), 2000) << "the last ball";
    h.drive();
    EXPECT_EQ(second.get(), 1999);
}

}  // namespace
