// A select among what is no channel, and yet would take what it waits for: queues, permits, calls of set().
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;

/// Both ends of a queue, by which a test sends without waiting and asks what is left.
template <typename Ends>
struct queue {
    Ends ends;

    bool send(int value) {
        if constexpr (requires { ends.first.try_send(value); }) {
            return ends.first.try_send(value);
        } else {
            return ends.first.send(value);
        }
    }
    int left() {
        auto got = ends.second.try_receive();
        return got ? value_of(got) : -1;
    }
    static int value_of(auto& got) {
        if constexpr (requires { got->value(); }) {
            return got->value();
        } else {
            return *got;
        }
    }
};
template <typename Ends>
queue(Ends) -> queue<Ends>;

template <typename Q>
by_hand::task<std::size_t> receives_of_two(coflux::environment&, borrowed<Q> a, borrowed<Q> b, borrowed<int> value) {
    auto got = co_await coflux::select(a->ends.second.receive(), b->ends.second.receive());
    if (got.index() == 0) {
        *value = get<0>(got) ? Q::value_of(get<0>(got)) : -1;
    } else {
        *value = get<1>(got) ? Q::value_of(get<1>(got)) : -1;
    }
    co_return got.index();
}

template <typename Make>
void the_loser_keeps_its_value(Make make) {
    for (const bool waits : {true, false}) {
        by_hand h;
        auto a = queue{make()};
        auto b = queue{make()};
        int value = 0;
        std::optional<by_hand::task<std::size_t>> t;
        const auto begin = [&] {
            t.emplace(receives_of_two(h.env, borrowed(a), borrowed(b), borrowed(value)));
            h.drive();
        };
        if (waits) begin();
        EXPECT_TRUE(a.send(1));
        EXPECT_TRUE(b.send(2));
        if (!waits) begin();
        h.drive();
        const std::size_t winner = t->get();
        EXPECT_EQ(value, winner == 0 ? 1 : 2);
        EXPECT_EQ(winner == 0 ? b.left() : a.left(), winner == 0 ? 2 : 1);
        EXPECT_EQ(winner == 0 ? a.left() : b.left(), -1);
    }
}
TEST(select_two_steps, the_loser_of_two_spsc_keeps_its_value) {
    the_loser_keeps_its_value([] { return coflux::make_spsc<int>(4); });
}
TEST(select_two_steps, the_loser_of_two_mpsc_keeps_its_value) {
    the_loser_keeps_its_value([] { return coflux::make_mpsc<int>(4); });
}
TEST(select_two_steps, the_loser_of_two_without_a_limit_keeps_its_value) {
    the_loser_keeps_its_value([] { return coflux::make_unbounded_mpsc<int>(); });
}
TEST(select_two_steps, the_loser_of_two_oneshots_keeps_its_value) {
    the_loser_keeps_its_value([] { return coflux::make_oneshot<int>(); });
}
TEST(select_two_steps, the_loser_of_two_broadcasts_keeps_its_value) {
    the_loser_keeps_its_value([] { return coflux::make_broadcast<int>(4); });
}

TEST(select_two_steps, a_oneshot_is_awaited_as_itself) {
    by_hand h;
    auto [tx, rx] = coflux::make_oneshot<int>();
    coflux::channel<int[1]> other;
    EXPECT_TRUE(tx.send(7));
    const int got = h.run([](coflux::environment&, borrowed<coflux::oneshot_receiver<int>> r,
                             borrowed<coflux::channel<int[1]>> c) -> by_hand::task<int> {
        auto first = co_await coflux::select(*r, c->receive());
        co_return first.index() == 0 ? get<0>(first).value_or(-1) : -2;
    }(h.env, borrowed(rx), borrowed(other)));
    EXPECT_EQ(got, 7);
}

TEST(select_two_steps, a_closed_queue_wins_with_nothing) {
    by_hand h;
    auto a = queue{coflux::make_mpsc<int>(4)};
    auto b = queue{coflux::make_mpsc<int>(4)};
    int value = 0;
    auto t = receives_of_two(h.env, borrowed(a), borrowed(b), borrowed(value));
    h.drive();
    a.ends.first.close();
    h.drive();
    EXPECT_EQ(t.get(), 0U);
    EXPECT_EQ(value, -1);
}

TEST(select_two_steps, stopped_loses_nothing) {
    by_hand h;
    auto a = queue{coflux::make_mpsc<int>(4)};
    auto b = queue{coflux::make_mpsc<int>(4)};
    int value = 0;
    auto t = receives_of_two(h.env, borrowed(a), borrowed(b), borrowed(value));
    h.drive();
    t.request_stop();
    EXPECT_TRUE(a.send(1));
    EXPECT_TRUE(b.send(2));
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(a.left(), 1);
    EXPECT_EQ(b.left(), 2);
}

using full = queue<decltype(coflux::make_mpsc<std::string>(1))>;

by_hand::task<std::size_t> sends_to_one(coflux::environment&, borrowed<full> a, borrowed<full> b,
                                        borrowed<std::array<std::string, 2>> values) {
    auto got = co_await coflux::select(a->ends.first.send(std::move((*values)[0])),
                                       b->ends.first.send(std::move((*values)[1])));
    EXPECT_TRUE(got.index() == 0 ? get<0>(got) : get<1>(got));
    co_return got.index();
}
TEST(select_two_steps, a_send_that_loses_has_not_sent) {
    by_hand h;
    auto a = full{coflux::make_mpsc<std::string>(1)};
    auto b = full{coflux::make_mpsc<std::string>(1)};
    EXPECT_TRUE(a.ends.first.try_send(std::string("full")));
    EXPECT_TRUE(b.ends.first.try_send(std::string("full")));
    std::array<std::string, 2> values{"first", "second"};
    auto t = sends_to_one(h.env, borrowed(a), borrowed(b), borrowed(values));
    h.drive();
    EXPECT_EQ(a.ends.second.try_receive(), "full");
    EXPECT_EQ(b.ends.second.try_receive(), "full");
    h.drive();
    const std::size_t winner = t.get();
    auto& won = winner == 0 ? a : b;
    auto& lost = winner == 0 ? b : a;
    EXPECT_EQ(won.ends.second.try_receive(), winner == 0 ? "first" : "second");
    EXPECT_EQ(lost.ends.second.try_receive(), std::nullopt);
    EXPECT_EQ(values[1 - winner], winner == 0 ? "second" : "first") << "it was not moved from";
    EXPECT_TRUE(lost.ends.first.try_send(std::string("the slot is free")));
}

TEST(select_two_steps, batches_are_taken_by_the_winner_alone) {
    by_hand h;
    auto a = queue{coflux::make_mpsc<int>(4)};
    auto b = queue{coflux::make_mpsc<int>(4)};
    using ends = decltype(a);
    auto t = [](coflux::environment&, borrowed<ends> x, borrowed<ends> y) -> by_hand::task<std::size_t> {
        std::array<int, 4> one{};
        std::array<int, 4> two{};
        auto got = co_await coflux::select(x->ends.second.receive_some(std::span(one)),
                                           y->ends.second.receive_some(std::span(two)));
        const auto& won = got.index() == 0 ? one : two;
        const auto& lost = got.index() == 0 ? two : one;
        EXPECT_EQ(got.index() == 0 ? get<0>(got) : get<1>(got), 2U);
        EXPECT_EQ(won[0] % 10, 1);
        EXPECT_EQ(won[1] % 10, 2);
        EXPECT_EQ(lost[0], 0);
        co_return got.index();
    }(h.env, borrowed(a), borrowed(b));
    h.drive();
    for (const int value : {11, 12}) EXPECT_TRUE(a.send(value));
    for (const int value : {21, 22}) EXPECT_TRUE(b.send(value));
    h.drive();
    const std::size_t winner = t.get();
    EXPECT_EQ(winner == 0 ? b.left() : a.left(), winner == 0 ? 21 : 11);
}

TEST(select_two_steps, the_loser_of_two_semaphores_has_taken_nothing) {
    for (const bool waits : {true, false}) {
        by_hand h;
        coflux::semaphore a(waits ? 0 : 2);
        coflux::semaphore b(waits ? 0 : 2);
        auto t = [](coflux::environment&, borrowed<coflux::semaphore> x,
                    borrowed<coflux::semaphore> y) -> by_hand::task<std::size_t> {
            co_return (co_await coflux::select(x->acquire(2), y->acquire(2))).index();
        }(h.env, borrowed(a), borrowed(b));
        h.drive();
        if (waits) {
            a.release(2);
            b.release(2);
            h.drive();
        }
        const std::size_t winner = t.get();
        EXPECT_EQ(a.available(), winner == 0 ? 0U : 2U);
        EXPECT_EQ(b.available(), winner == 0 ? 2U : 0U);
    }
}

TEST(select_two_steps, the_loser_of_two_events_has_used_up_no_set) {
    for (const bool waits : {true, false}) {
        by_hand h;
        coflux::auto_reset_event a(!waits);
        coflux::auto_reset_event b(!waits);
        auto t = [](coflux::environment&, borrowed<coflux::auto_reset_event> x,
                    borrowed<coflux::auto_reset_event> y) -> by_hand::task<std::size_t> {
            co_return (co_await coflux::select(x->wait(), y->wait())).index();
        }(h.env, borrowed(a), borrowed(b));
        h.drive();
        if (waits) {
            a.set();
            b.set();
            h.drive();
        }
        const std::size_t winner = t.get();
        EXPECT_EQ(a.try_wait(), winner != 0);
        EXPECT_EQ(b.try_wait(), winner == 0);
    }
}

using pool = coflux::thread_pool_executor;
template <typename Receiver>
coflux::task<std::uint64_t, pool> sums_of_two(coflux::environment&, Receiver a, Receiver b) {
    std::uint64_t sum = 0;
    for (bool a_is_open = true, b_is_open = true; a_is_open || b_is_open;) {
        if (a_is_open && b_is_open) {
            auto got = co_await coflux::select(a.receive(), b.receive());
            auto& value = got.index() == 0 ? get<0>(got) : get<1>(got);
            if (value) {
                sum += *value;
            } else {
                (got.index() == 0 ? a_is_open : b_is_open) = false;
            }
        } else {
            const auto value = co_await (a_is_open ? a : b).receive();
            if (value) {
                sum += *value;
            } else {
                (a_is_open ? a_is_open : b_is_open) = false;
            }
        }
    }
    co_return sum;
}
TEST(select_two_steps, loses_nothing_beside_threads_that_send) {
    constexpr std::uint64_t n = coflux_test::race_rounds;
    pool threads(2);
    auto env = coflux::make_environment(threads);
    auto [to_a, a] = coflux::make_unbounded_mpsc<std::uint64_t>();
    auto [to_b, b] = coflux::make_unbounded_mpsc<std::uint64_t>();
    auto sum = sums_of_two(env, std::move(a), std::move(b));
    const auto sends = [](auto to) {
        for (std::uint64_t i = 1; i <= n; ++i) {
            (void)to.send(std::uint64_t{i});
            if (i % 16 == 0) std::this_thread::yield();
        }
    };
    std::thread one(sends, std::move(to_a));
    std::thread two(sends, std::move(to_b));
    one.join();
    two.join();
    EXPECT_EQ(sum.get(), n * (n + 1));
}

}  // namespace
