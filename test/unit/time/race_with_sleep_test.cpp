// A race between a sleep and an operand that computes or begins: the end of each counts once, and no stop is lost.
#include <coflux/time/sleep.hpp>

#include <chrono>
#include <cstddef>
#include <random>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

/// How long a loser waits that is not stopped: far longer than a busy machine keeps a stop from coming.
constexpr auto gives_up = 20s;

void compute(clock::duration d) {
    for (const auto begin = clock::now(); clock::now() - begin < d;) coflux::detail::cpu_pause();
}

coflux::call<int> ends_after(coflux::environment&, clock::duration d) {
    compute(d);
    co_return 7;
}
coflux::task<std::size_t, pool> against_one_that_ends(coflux::environment&, std::size_t rounds, unsigned seed) {
    auto&& here = co_await coflux::context();
    std::mt19937 random(seed);
    std::size_t slept = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto computes_for = std::chrono::microseconds(random() % 1500);
        const auto first = co_await coflux::when_any(500us, ends_after(here, computes_for));
        if (first.index() == 0) {
            ++slept;
        } else {
            EXPECT_EQ(std::get<1>(first), 7);
        }
    }
    co_return slept;
}
/// The watcher is 0.5 ms late: the ends come in any order.
TEST(race_with_a_sleep, counts_each_end_once_where_both_end_at_the_same_time) {
    for (const std::size_t workers : {1U, 2U}) {
        pool threads(workers);
        auto env = coflux::make_environment(threads);
        const std::size_t rounds = coflux_test::repetitions(800);
        EXPECT_LT(against_one_that_ends(env, rounds, 5).get(), rounds);
    }
}

// A sleep may come due, and its end come on another thread, while the operands behind it begin.
coflux::call<void> nothing(coflux::environment&) {
    co_return;
}
coflux::call<void> waits(coflux::environment&, bool& to_the_end) {
    co_await coflux::sleep_for(gives_up);
    to_the_end = true;
}
coflux::fork<std::size_t, pool> against_one_that_begins(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t lost = 0;
    for (std::size_t i = 0; i < rounds && lost == 0; ++i) {
        const auto soon = std::chrono::microseconds(i % 20);
        (void)co_await coflux::when_any(nothing(here), coflux::sleep_for(soon));  // leaves a frame that has ended
        bool to_the_end = false;
        (void)co_await coflux::when_any(waits(here, to_the_end), coflux::sleep_for(soon));
        if (to_the_end) ++lost;
        co_await coflux::sleep_for(std::chrono::microseconds(i * 7 % 50));
    }
    co_return lost;
}
coflux::task<std::size_t, pool> four_of_them(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    auto [a, b, c, d] =
        co_await coflux::when_all(against_one_that_begins(here, rounds), against_one_that_begins(here, rounds),
                                  against_one_that_begins(here, rounds), against_one_that_begins(here, rounds));
    co_return a + b + c + d;
}
TEST(race_with_a_sleep, stops_a_loser_that_begins_when_the_sleep_ends) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    EXPECT_EQ(four_of_them(env, 10'000).get(), 0U) << "a stop was lost";
}

}  // namespace
