#include <coflux/channel/channel.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

struct item {
    std::uint32_t sender;
    std::uint32_t number;
};

template <typename Channel>
coflux::fork<void, pool> sends_all(coflux::environment&, borrowed<Channel> ch, std::uint32_t sender,
                                   std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(co_await ch->send(item{sender, i}));
}
/// Every third by a permit.
template <typename Channel>
coflux::fork<void, pool> reserves_and_sends(coflux::environment&, borrowed<Channel> ch, std::uint32_t sender,
                                            std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i % 3 != 0) {
            EXPECT_TRUE(co_await ch->send(item{sender, i}));
            continue;
        }
        auto p = co_await ch->reserve();
        if (i % 2 == 0) {
            p.reset();
            p = co_await ch->reserve();
        }
        p->send(item{sender, i});
    }
}
template <typename Channel>
coflux::fork<std::vector<item>, pool> receives_all(coflux::environment&, borrowed<Channel> ch) {
    std::vector<item> all;
    while (auto v = co_await ch->receive()) all.push_back(*v);
    co_return all;
}

/// Every value arrives once, and each receiver sees those of one sender in their order.
void expect_all(const std::vector<std::vector<item>>& received, std::uint32_t senders, std::uint32_t each) {
    std::vector<std::vector<bool>> seen(senders, std::vector<bool>(each, false));
    std::size_t count = 0;
    for (const auto& by_one : received) {
        std::vector<std::int64_t> last(senders, -1);
        for (const item& i : by_one) {
            EXPECT_FALSE(seen[i.sender][i.number]) << "received twice";
            seen[i.sender][i.number] = true;
            EXPECT_LT(last[i.sender], static_cast<std::int64_t>(i.number)) << "out of order";
            last[i.sender] = static_cast<std::int64_t>(i.number);
            ++count;
        }
    }
    EXPECT_EQ(count, std::size_t{senders} * each);
}

template <typename Channel, typename Sends>
coflux::task<void, pool> runs_many_to_many(coflux::environment&, Sends sends, std::uint32_t each) {
    auto&& here = co_await coflux::context();
    constexpr std::uint32_t each_side = 4;
    Channel ch;
    std::vector<coflux::fork<void, pool>> senders;
    std::vector<coflux::fork<std::vector<item>, pool>> receivers;
    for (std::uint32_t i = 0; i < each_side; ++i) {
        receivers.push_back(receives_all(here, borrowed(ch)));
        senders.push_back(sends(here, borrowed(ch), i, each));
    }
    co_await coflux::when_all(std::move(senders));
    ch.close();
    std::vector<std::vector<item>> received;
    for (auto& by_one : co_await coflux::when_all(std::move(receivers))) received.push_back(std::move(by_one));
    expect_all(received, each_side, each);
}

constexpr auto each = static_cast<std::uint32_t>(coflux_test::race_rounds / 4 + 100);

template <typename Channel>
void races() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    runs_many_to_many<Channel>(env, sends_all<Channel>, each).get();
}

TEST(channel_race, each_value_arrives_once_and_in_its_senders_order) {
    races<coflux::channel<item[1]>>();
    races<coflux::channel<item[2]>>();
    races<coflux::channel<item[64]>>();
    races<coflux::channel<item[]>>();
}

TEST(channel_race, permits_among_sends_lose_no_slot_and_no_value) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    runs_many_to_many<coflux::channel<item[1]>>(env, reserves_and_sends<coflux::channel<item[1]>>, each).get();
    runs_many_to_many<coflux::channel<item[3]>>(env, reserves_and_sends<coflux::channel<item[3]>>, each).get();
}

// --- stop against hand-over

/// Receives 0, 1, 2, …; what comes next is in `next`.
template <typename Channel>
coflux::fork<void, pool> receives_in_order(coflux::environment&, borrowed<Channel> ch, borrowed<int> next) {
    while (auto v = co_await ch->receive()) {
        EXPECT_EQ(*v, *next);
        ++*next;
    }
}

template <typename Channel>
coflux::fork<void, pool> sends_in_order(coflux::environment&, borrowed<Channel> ch, borrowed<int> next) {
    while (co_await ch->send(*next)) ++*next;
}

/// A sender and a receiver, one of which is stopped while both run; then the rest is drained: what send() said was sent
/// is received, and nothing else.
template <typename Channel>
coflux::task<void, pool> stops_one_side(coflux::environment&, bool the_sender, int yields) {
    auto&& here = co_await coflux::context();
    Channel ch;
    int sent = 0;
    int received = 0;
    auto s = sends_in_order(here, borrowed(ch), borrowed(sent));
    auto r = receives_in_order(here, borrowed(ch), borrowed(received));
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    if (the_sender) {
        s.request_stop();
        const auto of_sender = co_await coflux::as_outcome(std::move(s));
        EXPECT_TRUE(of_sender.is_stopped());
        ch.close();
        co_await std::move(r);
    } else {
        r.request_stop();
        const auto of_receiver = co_await coflux::as_outcome(std::move(r));
        EXPECT_TRUE(of_receiver.is_stopped());
        ch.close();
        co_await std::move(s);
        while (auto v = ch.try_receive()) EXPECT_EQ(*v, received++);
    }
    EXPECT_EQ(sent, received);
}

TEST(channel_race, stop_loses_no_value_that_was_sent_and_sends_none_that_was_not) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    for (int round = 0; round < static_cast<int>(coflux_test::repetitions(400)); ++round) {
        stops_one_side<coflux::channel<int[]>>(env, round % 2 == 0, round % 17).get();
        stops_one_side<coflux::channel<int[2]>>(env, round % 2 == 0, round % 17).get();
    }
}

// --- close against everything

template <typename Channel>
coflux::fork<int, pool> sends_until_closed(coflux::environment&, borrowed<Channel> ch) {
    int sent = 0;
    for (;;) {
        const bool done = co_await ch->send(sent);
        if (!done) co_return sent;
        ++sent;
    }
}
template <typename Channel>
coflux::fork<int, pool> counts(coflux::environment&, borrowed<Channel> ch) {
    int received = 0;
    while (auto v = co_await ch->receive()) ++received;
    co_return received;
}
template <typename Channel>
coflux::task<void, pool> closes_in_the_middle(coflux::environment&, int yields) {
    auto&& here = co_await coflux::context();
    Channel ch;
    auto s1 = sends_until_closed(here, borrowed(ch));
    auto s2 = sends_until_closed(here, borrowed(ch));
    auto r1 = counts(here, borrowed(ch));
    auto r2 = counts(here, borrowed(ch));
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    ch.close();
    auto [a, b, c, d] = co_await coflux::when_all(std::move(s1), std::move(s2), std::move(r1), std::move(r2));
    EXPECT_EQ(a + b, c + d);
}

TEST(channel_race, close_in_the_middle_wakes_all_and_loses_nothing) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    for (int round = 0; round < static_cast<int>(coflux_test::repetitions(400)); ++round) {
        closes_in_the_middle<coflux::channel<int[]>>(env, round % 13).get();
        closes_in_the_middle<coflux::channel<int[1]>>(env, round % 13).get();
        closes_in_the_middle<coflux::channel<int[16]>>(env, round % 13).get();
    }
}

}  // namespace
