#include <coflux/channel/select.hpp>

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using rendezvous = coflux::channel<long[]>;

constexpr auto each = static_cast<long>(coflux_test::race_rounds / 4 + 100);

/// Sends `each` numbers to one channel and receives as many from the other, in whatever order it gets to it.
template <typename To, typename From>
coflux::fork<long, pool> sends_and_receives(coflux::environment&, borrowed<To> to, borrowed<From> from) {
    long sum = 0;
    long sent = 0;
    long received = 0;
    while (sent < each || received < each) {
        if (sent == each) {
            sum += *co_await from->receive();
            ++received;
        } else if (received == each) {
            EXPECT_TRUE(co_await to->send(long{sent}));
            ++sent;
        } else {
            auto got = co_await coflux::select(to->send(long{sent}), from->receive());
            if (got.index() == 0) {
                EXPECT_TRUE(get<0>(got));
                ++sent;
            } else {
                sum += *get<1>(got);
                ++received;
            }
        }
    }
    co_return sum;
}

TEST(select_race, two_that_face_each_other_neither_block_nor_both_win) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        rendezvous a;
        rendezvous b;
        auto x = sends_and_receives(here, borrowed(a), borrowed(b));
        auto y = sends_and_receives(here, borrowed(b), borrowed(a));
        auto [s, t] = co_await coflux::when_all(std::move(x), std::move(y));
        EXPECT_EQ(s, each * (each - 1) / 2);
        EXPECT_EQ(t, each * (each - 1) / 2);
    };
    root(env).get();
}

/// Looks until both have looked often enough, so that they do so at the same time.
coflux::fork<void, pool> looks(coflux::environment&, borrowed<rendezvous> first, borrowed<rendezvous> second,
                               borrowed<std::atomic<long>> mine, borrowed<std::atomic<long>> others) {
    constexpr long enough = 8 * each;
    while (mine->load() < enough || others->load() < enough) {
        const auto got = co_await coflux::select(first->receive(), second->receive(), coflux::otherwise);
        EXPECT_EQ(got.index(), 2U);
        if (mine->fetch_add(1) % 64 == 0) co_await coflux::yield();
    }
}

TEST(select_race, two_that_name_the_same_channels_in_opposite_order_do_not_block_each_other) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        rendezvous a;
        rendezvous b;
        std::atomic<long> by_x{0};
        std::atomic<long> by_y{0};
        auto x = looks(here, borrowed(a), borrowed(b), borrowed(by_x), borrowed(by_y));
        auto y = looks(here, borrowed(b), borrowed(a), borrowed(by_y), borrowed(by_x));
        co_await coflux::when_all(std::move(x), std::move(y));
    };
    root(env).get();
}

TEST(select_race, four_around_two_channels_lose_and_invent_nothing) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        rendezvous a;
        coflux::channel<long[1]> b;
        std::vector<coflux::fork<long, pool>> all;
        all.push_back(sends_and_receives(here, borrowed(a), borrowed(b)));
        all.push_back(sends_and_receives(here, borrowed(b), borrowed(a)));
        all.push_back(sends_and_receives(here, borrowed(a), borrowed(b)));
        all.push_back(sends_and_receives(here, borrowed(b), borrowed(a)));
        long sum = 0;
        for (const long s : co_await coflux::when_all(std::move(all))) sum += s;
        EXPECT_EQ(sum, 4 * (each * (each - 1) / 2));
    };
    root(env).get();
}

coflux::call<long> receives_in_a_call(coflux::environment&, rendezvous& ch) {
    co_return (co_await ch.receive()).value_or(-1);
}
coflux::fork<long, pool> receives_in_a_fork(coflux::environment&, borrowed<rendezvous> ch) {
    co_return (co_await ch->receive()).value_or(-1);
}
coflux::fork<void, pool> sends_numbers(coflux::environment&, borrowed<rendezvous> ch, long count, borrowed<long> sent) {
    for (long i = 1; i <= count; ++i) {
        EXPECT_TRUE(co_await ch->send(long{i}));
        *sent += i;
    }
}

/// Coroutines among the cases: their values may die with them when they lose, but what the select gives is never made
/// up, and all of them end.
TEST(select_race, coroutines_among_the_cases_end_before_the_select_does) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        rendezvous a;
        rendezvous b;
        rendezvous c;
        long sent[3] = {0, 0, 0};
        const long count = each / 8;
        auto s1 = sends_numbers(here, borrowed(a), count, borrowed(sent[0]));
        auto s2 = sends_numbers(here, borrowed(b), count, borrowed(sent[1]));
        auto s3 = sends_numbers(here, borrowed(c), count, borrowed(sent[2]));
        long direct = 0;
        bool made_up = false;
        while (!s1.done() || !s2.done() || !s3.done()) {
            auto got = co_await coflux::select(a.receive(), receives_in_a_call(here, b),
                                               receives_in_a_fork(here, borrowed(c)), coflux::yield());
            if (got.index() == 0) direct += *get<0>(got);
            if (got.index() == 1) made_up |= get<1>(got) <= 0;
            if (got.index() == 2) made_up |= get<2>(got) <= 0;
        }
        EXPECT_FALSE(made_up);
        EXPECT_EQ(direct, sent[0]) << "a channel's case loses nothing";
        co_await coflux::when_all(std::move(s1), std::move(s2), std::move(s3));
    };
    root(env).get();
}

coflux::fork<void, pool> selects_until_stopped(coflux::environment&, borrowed<rendezvous> a, borrowed<rendezvous> b,
                                               borrowed<long> sum) {
    for (;;) {
        auto got = co_await coflux::select(a->receive(), b->receive());
        const auto& v = got.index() == 0 ? get<0>(got) : get<1>(got);
        if (!v) co_return;
        *sum += *v;
    }
}
coflux::fork<void, pool> sends_until_closed(coflux::environment&, borrowed<rendezvous> ch, borrowed<long> sum) {
    for (long i = 1;; ++i) {
        const bool sent = co_await ch->send(long{i});
        if (!sent) co_return;
        *sum += i;
    }
}

TEST(select_race, stop_takes_nothing_that_was_not_delivered) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&, int yields) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        rendezvous a;
        rendezvous b;
        long sent_a = 0;
        long sent_b = 0;
        long received = 0;
        auto s1 = sends_until_closed(here, borrowed(a), borrowed(sent_a));
        auto s2 = sends_until_closed(here, borrowed(b), borrowed(sent_b));
        auto r = selects_until_stopped(here, borrowed(a), borrowed(b), borrowed(received));
        for (int i = 0; i < yields; ++i) co_await coflux::yield();
        r.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(r))).is_stopped());
        a.close();
        b.close();
        co_await coflux::when_all(std::move(s1), std::move(s2));
        EXPECT_EQ(received, sent_a + sent_b);
    };
    for (int round = 0; round < static_cast<int>(coflux_test::repetitions(400)); ++round) root(env, round % 17).get();
}

}  // namespace
