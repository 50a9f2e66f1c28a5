#include <coflux/channel/select_range.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../combine/contenders.hpp"
#include "../core/stage.hpp"
#include "by_hand.hpp"
#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using namespace coflux_test;
using bounded = coflux::channel<int[2]>;
using rendezvous = coflux::channel<int[]>;
using root = coflux::task<void, hand>;

/// The winner, and its result; -1 for nothing.
struct won {
    std::size_t index;
    int value;
    friend bool operator==(const won&, const won&) = default;
};

template <typename Channels>
by_hand::task<won> receives_any(coflux::environment&, borrowed<Channels> from) {
    auto got = co_await coflux::select(*from);
    co_return won{got.index(), got.value().value_or(-1)};
}

TEST(select_range, takes_from_the_channel_that_has_something_and_leaves_the_others_alone) {
    by_hand h;
    std::array<bounded, 5> channels;
    for (const std::size_t i : {3U, 0U, 4U}) {
        EXPECT_TRUE(channels[i].try_send(static_cast<int>(i) + 10));
        EXPECT_EQ(h.run(receives_any(h.env, borrowed(channels))), (won{i, static_cast<int>(i) + 10}));
    }
    for (bounded& c : channels) EXPECT_FALSE(c.try_receive().has_value());
}

TEST(select_range, waits_for_whichever_comes_first) {
    for (std::size_t i = 0; i != 3; ++i) {
        by_hand h;
        std::array<bounded, 3> channels;
        auto t = receives_any(h.env, borrowed(channels));
        h.drive();
        EXPECT_FALSE(t.done());
        EXPECT_TRUE(channels[i].try_send(7));
        for (bounded& c : channels) EXPECT_TRUE(c.try_send(8));
        h.drive();
        EXPECT_EQ(t.get(), (won{i, 7}));
        for (bounded& c : channels) EXPECT_EQ(c.try_receive(), 8);
    }
}

TEST(select_range, gives_nothing_where_a_channel_is_closed) {
    by_hand h;
    std::array<bounded, 3> channels;
    auto t = receives_any(h.env, borrowed(channels));
    h.drive();
    channels[1].close();
    h.drive();
    EXPECT_EQ(t.get(), (won{1, -1}));
}

TEST(select_range, has_no_limit_of_64) {
    by_hand h;
    std::deque<bounded> channels(1'000);
    auto t = receives_any(h.env, borrowed(channels));
    h.drive();
    EXPECT_TRUE(channels[999].try_send(1));
    h.drive();
    EXPECT_EQ(t.get(), (won{999, 1}));
    EXPECT_TRUE(channels[500].try_send(2));
    EXPECT_EQ(h.run(receives_any(h.env, borrowed(channels))), (won{500, 2}));
}

TEST(select_range, takes_pointers_references_and_ends_in_any_order_and_twice) {
    by_hand h;
    bounded a;
    bounded b;
    EXPECT_EQ(h.run([](coflux::environment&, borrowed<bounded> x, borrowed<bounded> y) -> by_hand::task<int> {
        int sum = 0;
        EXPECT_TRUE(y->try_send(1));
        const std::vector<bounded*> pointers{&*y, &*x, &*y};
        sum += (co_await coflux::select(pointers)).value().value_or(-1);
        EXPECT_TRUE(x->try_send(2));
        const std::vector<std::reference_wrapper<bounded>> references{*y, *x};
        sum += (co_await coflux::select(references)).value().value_or(-1);
        std::vector<coflux::channel_receiver<bounded>> ends;
        ends.push_back(x->receiver());
        ends.push_back(y->receiver());
        EXPECT_TRUE(y->try_send(4));
        sum += (co_await coflux::select(ends)).value().value_or(-1);
        std::vector<std::unique_ptr<bounded>> owned;
        owned.push_back(std::make_unique<bounded>());
        EXPECT_TRUE(owned[0]->try_send(8));
        sum += (co_await coflux::select(owned)).value().value_or(-1);
        co_return sum;
    }(h.env, borrowed(a), borrowed(b))),
              15);
}

TEST(select_range, receives_from_queues_and_the_losers_take_nothing) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto [to_a, from_a] = coflux::make_mpsc<int>(4);
        auto [to_b, from_b] = coflux::make_mpsc<int>(4);
        std::vector<coflux::mpsc_receiver<int>> queues;
        queues.push_back(std::move(from_a));
        queues.push_back(std::move(from_b));
        for (int i = 0; i != 3; ++i) {
            EXPECT_TRUE(to_a.try_send(i));
            EXPECT_TRUE(to_b.try_send(i));
        }
        std::array<int, 2> next{};
        for (int i = 0; i != 6; ++i) {
            auto [index, value] = co_await coflux::select(queues);
            EXPECT_EQ(value, next[index]++);
        }
        EXPECT_EQ(next, (std::array<int, 2>{3, 3}));
    }(s.env));
}

TEST(select_range, starves_no_channel) {
    by_hand h;
    std::array<bounded, 4> channels;
    for (bounded& c : channels) EXPECT_TRUE(c.try_send(0));
    std::array<int, 4> wins{};
    for (int i = 0; i != 400; ++i) {
        const won w = h.run(receives_any(h.env, borrowed(channels)));
        ++wins[w.index];
        EXPECT_TRUE(channels[w.index].try_send(0));
    }
    for (const int n : wins) EXPECT_GT(n, 40);
}

TEST(select_range, is_one_case_beside_others) {
    by_hand h;
    std::array<bounded, 3> channels;
    bounded quit;
    const auto selects = [](coflux::environment&, borrowed<std::array<bounded, 3>> from,
                            borrowed<bounded> other) -> by_hand::task<won> {
        auto got = co_await coflux::select(other->receive(), *from);
        if (got.index() == 0) co_return won{100, get<0>(got).value_or(-1)};
        auto& [index, value] = get<1>(got);
        co_return won{index, value.value_or(-1)};
    };
    EXPECT_TRUE(channels[2].try_send(5));
    EXPECT_EQ(h.run(selects(h.env, borrowed(channels), borrowed(quit))), (won{2, 5}));
    auto t = selects(h.env, borrowed(channels), borrowed(quit));
    h.drive();
    EXPECT_TRUE(quit.try_send(6));
    h.drive();
    EXPECT_EQ(t.get(), (won{100, 6}));
    EXPECT_TRUE(channels[0].try_send(7));
    EXPECT_EQ(h.run(selects(h.env, borrowed(channels), borrowed(quit))), (won{0, 7}));
}

TEST(select_range, may_look_without_waiting) {
    by_hand h;
    std::array<bounded, 3> channels;
    const auto polls = [](coflux::environment&, borrowed<std::vector<bounded*>> from) -> by_hand::task<won> {
        auto got = co_await coflux::select(std::span(from->begin(), from->end()), coflux::otherwise);
        if (got.index() == 1) co_return won{0, -1};
        co_return won{get<0>(got).index(), get<0>(got).value().value_or(-1)};
    };
    std::vector<bounded*> all{&channels[0], &channels[1], &channels[2]};
    EXPECT_EQ(h.run(polls(h.env, borrowed(all))), (won{0, -1}));
    EXPECT_TRUE(channels[1].try_send(3));
    EXPECT_EQ(h.run(polls(h.env, borrowed(all))), (won{1, 3}));
    all.clear();
    EXPECT_EQ(h.run(polls(h.env, borrowed(all))), (won{0, -1}));
}

TEST(select_range, of_nothing_throws_and_beside_others_never_wins) {
    by_hand h;
    bounded one;
    EXPECT_TRUE(one.try_send(1));
    std::vector<bounded*> none;
    EXPECT_THROW(h.run(receives_any(h.env, borrowed(none))), std::invalid_argument);
    EXPECT_EQ(h.run([](coflux::environment&, borrowed<bounded> c) -> by_hand::task<std::size_t> {
        auto got = co_await coflux::select(std::span<bounded>(), c->receive());
        co_return got.index();
    }(h.env, borrowed(one))),
              1U);
}

TEST(select_range, stops_without_effect) {
    by_hand h;
    std::array<bounded, 3> channels;
    auto t = receives_any(h.env, borrowed(channels));
    h.drive();
    t.request_stop();
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    for (bounded& c : channels) {
        EXPECT_TRUE(c.try_send(1));
        EXPECT_EQ(c.try_receive(), 1);
    }
}

// --- handles

using forks = std::vector<coflux::fork<int, hand>>;

template <typename... Forks>
forks range_of(Forks... each) {
    forks all;
    (all.push_back(std::move(each)), ...);
    return all;
}

TEST(select_range, takes_the_first_handle_that_ends_and_joins_the_others) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        const auto [index, value] = co_await coflux::select(
            range_of(runs_until_stopped(here, in, "a"), gives_after(here, 3, 7), runs_until_stopped(here, in, "b")));
        EXPECT_EQ(index, 1U);
        EXPECT_EQ(value, 7);
        EXPECT_EQ(in->lines().size(), 2U);
    }(s.env, &log));
}

TEST(select_range, of_handles_stands_beside_one_of_channels) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        std::array<bounded, 2> channels;
        EXPECT_TRUE(channels[1].try_send(4));
        auto got = co_await coflux::select(range_of(runs_until_stopped(here, in, "a")), channels);
        EXPECT_EQ(got.index(), 1U);
        EXPECT_EQ(get<1>(got).index(), 1U);
        EXPECT_EQ(get<1>(got).value(), 4);
        EXPECT_EQ(in->lines().size(), 1U);
        auto other = co_await coflux::select(range_of(gives_after(here, 2, 9)), channels, gives_after(here, 50, 1));
        EXPECT_EQ(other.index(), 0U);
        EXPECT_EQ(get<0>(other).value(), 9);
    }(s.env, &log));
}

TEST(select_range, throws_the_error_of_a_handle_that_wins) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_THROW((void)co_await coflux::select(range_of(fails_after(here, 1, "no"), gives_after(here, 9, 1))),
                     std::runtime_error);
    }(s.env));
}

// --- memory

TEST(select_range, that_finds_no_memory_takes_nothing) {
    for (const std::size_t failing : {1U, 2U, 3U}) {
        stage<hand> s;
        s.run([](coflux::environment&, coflux::counting_resource* frames, std::size_t n) -> root {
            auto&& here = co_await coflux::context();
            std::array<bounded, 3> channels;
            EXPECT_TRUE(channels[2].try_send(4));
            forks all = range_of(gives_after(here, 2, 1));
            frames->fail_at(n);
            EXPECT_THROW((void)co_await coflux::select(channels), std::bad_alloc);
            frames->fail_at(n);
            EXPECT_THROW((void)co_await coflux::select(std::move(all)), std::bad_alloc);
            frames->fail_at(0);
            EXPECT_EQ((co_await coflux::select(channels)).value(), 4);
            EXPECT_TRUE(all[0].valid());
            EXPECT_EQ(co_await std::move(all[0]), 1);
        }(s.env, &s.frames(), failing));
    }
}

TEST(select_range, takes_three_blocks_from_its_environment) {
    stage<hand> s;
    s.run([](coflux::environment&, coflux::counting_resource* frames) -> root {
        std::array<bounded, 9> channels;
        EXPECT_TRUE(channels[2].try_send(4));
        const std::size_t before = frames->allocations();
        EXPECT_EQ((co_await coflux::select(channels)).index(), 2U);
        EXPECT_EQ(frames->allocations() - before, 3U);
    }(s.env, &s.frames()));
}

// --- on threads

using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> sends_all(coflux::environment&, borrowed<rendezvous> to, int n) {
    for (int i = 0; i != n; ++i) EXPECT_TRUE(co_await to->send(i));
    to->close();
}
coflux::fork<std::size_t, pool> receives_all(coflux::environment&, borrowed<std::array<rendezvous, 5>> from) {
    std::vector<rendezvous*> open;
    for (rendezvous& c : *from) open.push_back(&c);
    std::size_t received = 0;
    while (!open.empty()) {
        auto [index, value] = co_await coflux::select(open);
        if (value) {
            ++received;
        } else {
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
    co_return received;
}

TEST(select_range, loses_no_value_between_threads) {
    static constexpr int each = static_cast<int>(repetitions(80'000));
    for (const std::size_t workers : {1U, 3U}) {
        pool on(workers);
        auto env = coflux::make_environment(on);
        [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array<rendezvous, 5> channels;
            std::size_t received = 0;
            co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
                for (rendezvous& c : channels) scope.spawn(sends_all, borrowed(c), each);
                auto [a, b] = co_await coflux::when_all(receives_all(scope, borrowed(channels)),
                                                        receives_all(scope, borrowed(channels)));
                received = a + b;
            });
            EXPECT_EQ(received, channels.size() * each);
        }(env)
                                        .get();
    }
}

}  // namespace
