#include <coflux/channel/select.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::receives;
using coflux_test::sends;
using bounded = coflux::channel<int[1]>;
using rendezvous = coflux::channel<int[]>;
using lines = std::vector<std::string>;

/// The winner, and its result: a received value, or 1 and 0 for a send; -1 for nothing.
struct won {
    std::size_t index;
    int value;
    friend bool operator==(const won&, const won&) = default;
};

template <typename A, typename B>
by_hand::task<won> receives_one_of(coflux::environment&, borrowed<A> a, borrowed<B> b) {
    auto got = co_await coflux::select(a->receive(), b->receive());
    co_return won{got.index(), got.index() == 0 ? coflux::get<0>(got).value_or(-1) : coflux::get<1>(got).value_or(-1)};
}
template <typename A, typename B>
by_hand::task<won> sends_or_receives(coflux::environment&, borrowed<A> to, int value, borrowed<B> from) {
    auto got = co_await coflux::select(to->send(std::move(value)), from->receive());
    co_return won{got.index(), got.index() == 0 ? int{get<0>(got)} : get<1>(got).value_or(-1)};
}

TEST(select, takes_what_can_be_done_at_once_and_leaves_the_others_alone) {
    by_hand h;
    bounded a;
    bounded b;
    EXPECT_TRUE(b.try_send(7));
    EXPECT_EQ(h.run(receives_one_of(h.env, borrowed(a), borrowed(b))), (won{1, 7}));
    EXPECT_TRUE(a.try_send(8));
    EXPECT_EQ(h.run(receives_one_of(h.env, borrowed(a), borrowed(b))), (won{0, 8}));
    EXPECT_EQ(h.run(sends_or_receives(h.env, borrowed(a), 9, borrowed(b))), (won{0, 1}));
    EXPECT_EQ(a.try_receive(), 9);
}

TEST(select, waits_for_whichever_comes_first_and_the_other_has_no_effect) {
    for (const bool first : {true, false}) {
        by_hand h;
        bounded a;
        rendezvous b;
        auto t = receives_one_of(h.env, borrowed(a), borrowed(b));
        h.drive();
        EXPECT_FALSE(t.done());
        EXPECT_TRUE(first ? a.try_send(1) : b.try_send(1));
        EXPECT_EQ(h.executor.pending(), 1U) << "queued, not run inside the send";
        EXPECT_FALSE(b.try_send(2)) << "a select that is decided takes nothing more, woken or not";
        EXPECT_TRUE(a.try_send(3));
        h.drive();
        EXPECT_EQ(t.get(), (won{first ? 0U : 1U, 1}));
        EXPECT_EQ(a.try_receive(), 3);
    }
}

TEST(select, that_waits_to_send_keeps_the_value_unless_that_case_wins) {
    by_hand h;
    coflux::channel<std::unique_ptr<int>[]> to;
    bounded from;
    auto kept = std::make_unique<int>(1);
    const auto offers = [](coflux::environment&, borrowed<coflux::channel<std::unique_ptr<int>[]>> t,
                           borrowed<std::unique_ptr<int>> v, borrowed<bounded> f) -> by_hand::task<std::size_t> {
        auto got = co_await coflux::select(t->send(std::move(*v)), f->receive());
        co_return got.index();
    };
    auto loses = offers(h.env, borrowed(to), borrowed(kept), borrowed(from));
    h.drive();
    EXPECT_TRUE(from.try_send(2));
    EXPECT_EQ(to.try_receive(), std::nullopt);
    h.drive();
    EXPECT_EQ(loses.get(), 1U);
    ASSERT_NE(kept, nullptr);
    auto wins = offers(h.env, borrowed(to), borrowed(kept), borrowed(from));
    h.drive();
    EXPECT_EQ(**to.try_receive(), 1);
    h.drive();
    EXPECT_EQ(wins.get(), 0U);
    EXPECT_EQ(kept, nullptr);
}

TEST(select, takes_every_operation_of_a_channel_as_a_case) {
    by_hand h;
    bounded a;
    rendezvous never;
    h.run([](coflux::environment&, borrowed<bounded> c, borrowed<rendezvous> n) -> by_hand::task<void> {
        int v = 0;
        const int one = 1;
        EXPECT_EQ((co_await coflux::select(n->receive(), *c << one)).index(), 1U);
        auto filled = co_await coflux::select(*c >> v, n->receive());
        EXPECT_TRUE(get<0>(filled));
        EXPECT_EQ(v, 1);
        auto reserved = co_await coflux::select(n->receive(), c->reserve());
        get<1>(reserved)->send(2);
        EXPECT_EQ(co_await c->receive(), 2);
    }(h.env, borrowed(a), borrowed(never)));
}

TEST(select, reserve_that_waits_gets_a_slot_only_if_it_wins) {
    by_hand h;
    bounded a;
    rendezvous b;
    EXPECT_TRUE(a.try_send(1));
    const auto waits = [](coflux::environment&, borrowed<bounded> x,
                          borrowed<rendezvous> y) -> by_hand::task<std::size_t> {
        auto got = co_await coflux::select(x->reserve(), y->receive());
        co_return got.index();
    };
    auto loses = waits(h.env, borrowed(a), borrowed(b));
    h.drive();
    EXPECT_TRUE(b.try_send(5));
    EXPECT_EQ(a.try_receive(), 1);
    EXPECT_TRUE(a.try_send(2)) << "a slot that no permit holds";
    h.drive();
    EXPECT_EQ(loses.get(), 1U);
    auto wins = waits(h.env, borrowed(a), borrowed(b));
    h.drive();
    EXPECT_EQ(a.try_receive(), 2);
    EXPECT_FALSE(a.try_send(3));
    h.drive();
    EXPECT_EQ(wins.get(), 0U);
    EXPECT_TRUE(a.try_send(3)) << "the permit died with the result";
}

TEST(select, of_several_that_are_ready_starves_none) {
    by_hand h;
    coflux::channel<int[2]> a;
    coflux::channel<int[2]> b;
    coflux::channel<int[2]> c;
    const auto counts =
        h.run([](coflux::environment&, borrowed<coflux::channel<int[2]>> x, borrowed<coflux::channel<int[2]>> y,
                 borrowed<coflux::channel<int[2]>> z) -> by_hand::task<std::vector<int>> {
            std::vector<int> won_by(3, 0);
            for (int i = 0; i < 3000; ++i) {
                (void)x->try_send(0);
                (void)y->try_send(0);
                (void)z->try_send(0);
                auto got = co_await coflux::select(x->receive(), y->receive(), z->receive());
                ++won_by[got.index()];
            }
            co_return won_by;
        }(h.env, borrowed(a), borrowed(b), borrowed(c)));
    for (const int n : counts) EXPECT_GT(n, 800) << "of 3000, each a third";
}

TEST(select, with_otherwise_does_not_wait) {
    by_hand h;
    bounded a;
    rendezvous b;
    const auto tries = [](coflux::environment&, borrowed<bounded> x,
                          borrowed<rendezvous> y) -> by_hand::task<std::size_t> {
        auto got = co_await coflux::select(x->receive(), y->send(1), coflux::otherwise);
        co_return got.index();
    };
    EXPECT_EQ(h.run(tries(h.env, borrowed(a), borrowed(b))), 2U);
    EXPECT_TRUE(a.try_send(1));
    EXPECT_EQ(h.run(tries(h.env, borrowed(a), borrowed(b))), 0U);
    auto r = receives(h.env, borrowed(b));
    h.drive();
    EXPECT_EQ(h.run(tries(h.env, borrowed(a), borrowed(b))), 1U);
    h.drive();
    EXPECT_EQ(r.get(), 1);
}

TEST(select, finds_a_closed_channel_ready) {
    by_hand h;
    bounded a;
    rendezvous b;
    auto receives_nothing = receives_one_of(h.env, borrowed(a), borrowed(b));
    auto sends_nothing = sends_or_receives(h.env, borrowed(b), 3, borrowed(a));
    h.drive();
    EXPECT_EQ(sends_nothing.get(), (won{0, 1})) << "the one sends to the other";
    EXPECT_EQ(receives_nothing.get(), (won{1, 3}));
    auto waits = sends_or_receives(h.env, borrowed(b), 3, borrowed(a));
    h.drive();
    b.close();
    h.drive();
    EXPECT_EQ(waits.get(), (won{0, 0}));
    EXPECT_EQ(h.run(receives_one_of(h.env, borrowed(a), borrowed(b))), (won{1, -1}));
}

TEST(select, does_not_meet_itself) {
    by_hand h;
    rendezvous a;
    auto t = sends_or_receives(h.env, borrowed(a), 1, borrowed(a));
    h.drive();
    EXPECT_FALSE(t.done());
    auto other = sends_or_receives(h.env, borrowed(a), 2, borrowed(a));
    h.drive();
    const won first = t.get();
    const won second = other.get();
    EXPECT_NE(first.index, second.index) << "one sends, the other receives";
    EXPECT_EQ(first.index == 1 ? first.value : second.value, first.index == 1 ? 2 : 1);
}

TEST(select, serves_the_waiters_behind_one_that_was_decided_elsewhere) {
    by_hand h;
    bounded a;
    rendezvous b;
    auto decided = receives_one_of(h.env, borrowed(a), borrowed(b));
    auto behind = receives(h.env, borrowed(b));
    h.drive();
    EXPECT_TRUE(a.try_send(1));
    EXPECT_TRUE(b.try_send(2));
    h.drive();
    EXPECT_EQ(decided.get(), (won{0, 1}));
    EXPECT_EQ(behind.get(), 2);
}

// --- stop

TEST(select, that_is_stopped_has_no_effect_and_leaves_its_channels) {
    by_hand h;
    rendezvous a;
    rendezvous b;
    auto t = sends_or_receives(h.env, borrowed(a), 1, borrowed(b));
    h.drive();
    t.request_stop();
    EXPECT_EQ(a.try_receive(), std::nullopt);
    EXPECT_FALSE(b.try_send(2));
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(select, that_was_decided_before_the_stop_keeps_what_it_has) {
    by_hand h;
    rendezvous a;
    rendezvous b;
    auto t = receives_one_of(h.env, borrowed(a), borrowed(b));
    h.drive();
    EXPECT_TRUE(b.try_send(2));
    t.request_stop();
    h.drive();
    EXPECT_EQ(t.get(), (won{1, 2}));
}

TEST(select, after_a_stop_request_does_what_needs_no_wait_and_else_stops) {
    by_hand h;
    bounded a;
    bounded b;
    EXPECT_TRUE(a.try_send(1));
    int rounds = 0;
    auto t = [](coflux::environment&, borrowed<bounded> x, borrowed<bounded> y,
                borrowed<int> n) -> by_hand::task<void> {
        for (;;) {
            (void)co_await coflux::select(x->receive(), y->receive());
            ++*n;
        }
    }(h.env, borrowed(a), borrowed(b), borrowed(rounds));
    t.request_stop();
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(rounds, 1);
}

// --- other awaitables

coflux::call<int> gives_in_a_call(coflux::environment&, int yields, int value) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return value;
}
coflux::call<int> waits_in_a_call(coflux::environment&, rendezvous& ch, journal& log, std::string name) {
    const mortal local(log, std::move(name));
    co_return (co_await ch.receive()).value_or(-1);
}
coflux::fork<int, manual_executor> waits_in_a_fork(coflux::environment&, borrowed<rendezvous> ch, borrowed<journal> log,
                                                   std::string name) {
    const mortal local(*log, std::move(name));
    co_return (co_await ch->receive()).value_or(-1);
}
coflux::fork<int, manual_executor> fails(coflux::environment&, borrowed<rendezvous> ch, std::string why) {
    (void)co_await ch->receive();
    throw std::runtime_error(why);
}

TEST(select, takes_a_call_and_stops_and_joins_it_if_it_loses) {
    by_hand h;
    bounded a;
    rendezvous never;
    journal j;
    auto t = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> n,
                borrowed<journal> log) -> by_hand::task<int> {
        auto&& here = co_await coflux::context();
        auto got = co_await coflux::select(x->receive(), waits_in_a_call(here, *n, *log, "call"));
        log->write("selected");
        co_return get<0>(got).value();
    }(h.env, borrowed(a), borrowed(never), borrowed(j));
    h.drive();
    EXPECT_TRUE(a.try_send(4));
    h.drive();
    EXPECT_EQ(t.get(), 4);
    EXPECT_EQ(j.lines(), (lines{"call dies", "selected"}));
}

TEST(select, gives_the_value_of_a_call_or_fork_that_ends_first) {
    by_hand h;
    bounded a;
    rendezvous b;
    journal j;
    h.run([](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> y,
             borrowed<journal> log) -> by_hand::task<void> {
        auto&& here = co_await coflux::context();
        auto by_call = co_await coflux::select(x->receive(), gives_in_a_call(here, 3, 30));
        EXPECT_EQ(get<1>(by_call), 30);
        auto at_once = co_await coflux::select(x->receive(), gives_in_a_call(here, 0, 31), coflux::yield());
        EXPECT_EQ(get<1>(at_once), 31);
        auto f = waits_in_a_fork(here, y, log, "fork");
        co_await coflux::yield();
        EXPECT_TRUE(y->try_send(32));
        auto by_fork = co_await coflux::select(x->receive(), std::move(f));
        EXPECT_EQ(get<1>(by_fork), 32);
    }(h.env, borrowed(a), borrowed(b), borrowed(j)));
    EXPECT_TRUE(a.try_send(5)) << "no waiter is left in the queue";
    EXPECT_EQ(a.try_receive(), 5);
}

TEST(select, stops_and_joins_a_fork_that_loses) {
    by_hand h;
    bounded a;
    rendezvous never;
    journal j;
    auto t = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> n,
                borrowed<journal> log) -> by_hand::task<void> {
        auto&& here = co_await coflux::context();
        auto got = co_await coflux::select(waits_in_a_fork(here, n, log, "first"), x->receive(),
                                           waits_in_a_fork(here, n, log, "second"));
        EXPECT_EQ(get<1>(got), 6);
        log->write("selected");
    }(h.env, borrowed(a), borrowed(never), borrowed(j));
    h.drive();
    EXPECT_TRUE(a.try_send(6));
    h.drive();
    t.get();
    EXPECT_EQ(j.lines(), (lines{"first dies", "second dies", "selected"}));
}

coflux::call<int> sends_and_waits(coflux::environment&, bounded& to, rendezvous& never) {
    EXPECT_TRUE(to.try_send(8));
    co_return (co_await never.receive()).value_or(-1);
}

TEST(select, sees_what_a_case_that_has_just_begun_has_sent_to_another) {
    by_hand h;
    bounded a;
    rendezvous never;
    auto t = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> n) -> by_hand::task<int> {
        auto&& here = co_await coflux::context();
        int received = 0;
        for (int round = 0; round < 20;
             ++round) {  // so that now the channel is looked at first, now the call begins first
            auto got = co_await coflux::select(x->receive(), sends_and_waits(here, *x, *n));
            if (got.index() == 0 && get<0>(got) == 8) ++received;
        }
        co_return received;
    }(h.env, borrowed(a), borrowed(never));
    h.drive();
    EXPECT_EQ(t.get(), 20);
}

TEST(select, takes_what_coflux_does_not_know) {
    by_hand h;
    bounded a;
    coflux_test::foreign_event event;
    auto t = [](coflux::environment&, borrowed<bounded> x,
                borrowed<coflux_test::foreign_event> e) -> by_hand::task<std::size_t> {
        auto got = co_await coflux::select(x->receive(), *e);
        co_return got.index();
    }(h.env, borrowed(a), borrowed(event));
    h.drive();
    event.set();
    h.drive();
    EXPECT_EQ(t.get(), 1U);
}

TEST(select, throws_the_error_of_the_case_that_wins_and_leaves_that_of_a_loser_to_the_scope) {
    by_hand h;
    bounded a;
    rendezvous go;
    const auto wins = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> g) -> by_hand::task<bool> {
        auto&& here = co_await coflux::context();
        try {
            (void)co_await coflux::select(x->receive(), fails(here, g, "wins"));
        } catch (const std::runtime_error& e) {
            co_return e.what() == std::string("wins");
        }
        co_return false;
    };
    auto won_by_error = wins(h.env, borrowed(a), borrowed(go));
    h.drive();
    EXPECT_TRUE(go.try_send(1));
    h.drive();
    EXPECT_TRUE(won_by_error.get());

    const auto loses = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> g) -> by_hand::task<void> {
        auto&& here = co_await coflux::context();
        auto got = co_await coflux::select(x->receive(), fails(here, g, "loses"));
        EXPECT_EQ(get<0>(got), 1);
    };
    auto lost = loses(h.env, borrowed(a), borrowed(go));
    h.drive();
    EXPECT_TRUE(go.try_send(1));  // the fork is on its way to its error
    EXPECT_TRUE(a.try_send(1));   // but the channel is first
    h.drive();
    EXPECT_THROW(lost.get(), std::runtime_error);
}

TEST(select, is_stopped_by_a_fork_that_was_stopped_and_wins) {
    by_hand h;
    bounded a;
    auto t = [](coflux::environment&, borrowed<bounded> x) -> by_hand::task<void> {
        auto&& here = co_await coflux::context();
        auto stops = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            co_await coflux::this_coroutine::stop();
            co_return 0;
        }(here);
        (void)co_await coflux::select(x->receive(), std::move(stops));
        ADD_FAILURE() << "went on after a stop";
    }(h.env, borrowed(a));
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_TRUE(a.try_send(1));
    EXPECT_EQ(a.try_receive(), 1);
}

TEST(select, that_is_stopped_joins_the_coroutines_among_its_cases) {
    by_hand h;
    bounded a;
    rendezvous never;
    journal j;
    auto t = [](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> n,
                borrowed<journal> log) -> by_hand::task<void> {
        auto&& here = co_await coflux::context();
        const mortal local(*log, "local");
        (void)co_await coflux::select(x->receive(), waits_in_a_call(here, *n, *log, "call"),
                                      waits_in_a_fork(here, n, log, "fork"));
    }(h.env, borrowed(a), borrowed(never), borrowed(j));
    h.drive();
    t.request_stop();
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    ASSERT_EQ(j.lines().size(), 3U);
    EXPECT_EQ(j.lines().back(), "local dies");
}

TEST(select, begins_nothing_where_memory_is_short) {
    coflux::counting_resource memory;
    manual_executor by_itself;
    auto env = coflux::make_environment(&memory, by_itself);
    rendezvous never;
    journal j;
    auto t = [](coflux::environment&, borrowed<coflux::counting_resource> m, borrowed<rendezvous> n,
                borrowed<journal> log) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        m->fail_at(4);  // two frames of calls and one of a wrapper are had, the second wrapper's is not
        try {
            (void)co_await coflux::select(waits_in_a_call(here, *n, *log, "first"),
                                          waits_in_a_call(here, *n, *log, "second"));
        } catch (const std::bad_alloc&) {
            m->fail_at(0);
            co_return true;
        }
        co_return false;
    }(env, borrowed(memory), borrowed(never), borrowed(j));
    by_itself.run_all();
    EXPECT_TRUE(t.get());
    EXPECT_TRUE(j.lines().empty());
}

TEST(select_death, asking_for_a_case_that_did_not_win_is_a_checked_error) {
    by_hand h;
    bounded a;
    rendezvous b;
    EXPECT_TRUE(a.try_send(1));
    h.run([](coflux::environment&, borrowed<bounded> x, borrowed<rendezvous> y) -> by_hand::task<void> {
        auto got = co_await coflux::select(x->receive(), y->receive());
        EXPECT_DEATH((void)get<1>(got), "get<1>\\(\\) of a select that case 0 has won");
    }(h.env, borrowed(a), borrowed(b)));
}

}  // namespace
