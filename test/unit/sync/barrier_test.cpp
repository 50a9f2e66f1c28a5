#include <coflux/sync/barrier.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::barrier;
using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;

static_assert(!std::is_copy_constructible_v<barrier<>>);

struct writes_phase {
    journal* j;
    void operator()() const noexcept { j->write("phase"); }
};

coflux::fork<void, hand> meets(coflux::environment&, borrowed<barrier<writes_phase>> b, journal* j, std::string name,
                               int phases) {
    for (int i = 0; i < phases; ++i) {
        co_await b->arrive_and_wait();
        j->write(name);
    }
}

struct scene : by_hand {
    journal j;
    barrier<writes_phase> b;
    explicit scene(std::size_t expected) : b(expected, writes_phase{&j}) {}
    auto party(std::string name, int phases) { return meets(env, borrowed(b), &j, std::move(name), phases); }
};

TEST(barrier, ends_a_phase_when_all_have_arrived_with_one_call_of_the_completion) {
    scene s(3);
    auto a = s.party("a", 1);
    auto b = s.party("b", 1);
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
    auto c = s.party("c", 1);
    s.executor.run_one();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "c"})) << "the last to arrive does not suspend, and runs no other";
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "c", "a", "b"}));
}

TEST(barrier, begins_again_after_each_phase) {
    scene s(2);
    auto a = s.party("a", 3);
    auto b = s.party("b", 3);
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "b", "a", "phase", "a", "b", "phase", "b", "a"}));
    EXPECT_EQ(s.b.expected(), 2U);
}

TEST(barrier, of_one_never_waits) {
    scene s(1);
    auto a = s.party("a", 2);
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_EQ(s.j.lines(), (lines{"phase", "a", "phase", "a"}));
}

TEST(barrier, goes_on_without_those_that_drop_out) {
    scene s(3);
    auto a = s.party("a", 2);
    auto b = s.party("b", 2);
    s.drive();
    s.b.arrive_and_drop();
    EXPECT_EQ(s.j.lines(), lines{"phase"}) << "they are queued, not run";
    EXPECT_EQ(s.b.expected(), 2U);
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "a", "b", "phase", "b", "a"}));
}

TEST(barrier_stop, during_the_wait_counts_in_this_phase_and_not_in_later_ones) {
    scene s(3);
    auto a = s.party("a", 2);
    auto b = s.party("b", 2);
    s.drive();
    a.request_stop();
    EXPECT_EQ(s.b.expected(), 2U);
    s.drive();
    EXPECT_TRUE(a.done());
    EXPECT_TRUE(s.j.lines().empty()) << "the phase still waits for the third";
    auto c = s.party("c", 2);
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "c", "b", "phase", "b", "c"}));
}

TEST(barrier_stop, before_the_wait_counts_in_this_phase_and_not_in_later_ones) {
    scene s(3);
    auto a = s.party("a", 2);
    auto b = s.party("b", 2);
    a.request_stop();
    s.drive();
    EXPECT_TRUE(a.done());
    EXPECT_EQ(s.b.expected(), 2U);
    auto c = s.party("c", 2);
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "c", "b", "phase", "b", "c"}));
}

TEST(barrier_stop, of_the_last_to_arrive_comes_at_its_next_stop_point) {
    scene s(2);
    auto a = s.party("a", 1);
    s.drive();
    auto b = s.party("b", 2);
    b.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "b", "a"}));
    EXPECT_TRUE(b.done()) << "stopped in the second phase";
    EXPECT_EQ(s.b.expected(), 1U);
}

TEST(barrier_stop, after_the_phase_ended_takes_nothing_back) {
    scene s(2);
    auto a = s.party("a", 1);
    s.drive();
    s.b.arrive_and_drop();
    a.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"phase", "a"}));
    EXPECT_EQ(s.b.expected(), 1U);
}

TEST(barrier_stop, of_all_leaves_a_barrier_that_may_die) {
    scene s(3);
    auto a = s.party("a", 1);
    auto b = s.party("b", 1);
    s.drive();
    s.env.request_stop();
    s.drive();
    EXPECT_TRUE(a.done() && b.done());
    EXPECT_EQ(s.b.expected(), 1U);
}

struct adds_up {
    std::vector<std::size_t>* cells;
    std::size_t* phases;
    void operator()() const noexcept {
        ++*phases;
        for (const std::size_t cell : *cells) {
            if (cell != *phases) ADD_FAILURE() << "a party is in phase " << cell << " at the end of phase " << *phases;
        }
    }
};

coflux::fork<void, pool> works(coflux::environment&, borrowed<barrier<adds_up>> b,
                               borrowed<std::vector<std::size_t>> cells, std::size_t at, std::size_t phases) {
    for (std::size_t i = 0; i < phases; ++i) {
        ++(*cells)[at];  // not atomic: the barrier is all that orders it against the completion
        co_await b->arrive_and_wait();
    }
}

TEST(barrier, keeps_the_phases_of_two_threads_apart) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        std::vector<std::size_t> cells(4);
        std::size_t phases = 0;
        barrier<adds_up> b(4, adds_up{&cells, &phases});
        std::vector<coflux::fork<void, pool>> all;
        for (std::size_t i = 0; i < 4; ++i)
            all.push_back(works(here, borrowed(b), borrowed(cells), i, coflux_test::repetitions(40'000)));
        co_await coflux::when_all(std::move(all));
        co_return phases;
    };
    EXPECT_EQ(root(env).get(), coflux_test::repetitions(40'000));
}

void dies_with_a_waiter() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    journal j;
    auto b = std::make_unique<barrier<writes_phase>>(2U, writes_phase{&j});
    auto f = meets(s.env, borrowed(*b), &j, "f", 1);
    s.drive();
    b.reset();
}
void drops_too_many() {
    barrier<> b(1);
    b.arrive_and_drop();
    b.arrive_and_drop();
}

TEST(barrier_death, of_one_in_which_a_coroutine_waits_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_with_a_waiter(), "a barrier was destroyed while coroutines wait in it");
}
TEST(barrier_death, more_arrivals_than_expected_are_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(drops_too_many(), "more have arrived in a barrier than it expects");
}

}  // namespace
