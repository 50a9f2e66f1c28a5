// A sleep that is one of several operands decides when its time has come, and not when a worker has time for it: a
// loser that computes and asks learns of its stop though all workers are busy.
#include <coflux/time/sleep.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>
#include <support/witness.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

/// How long one computes that is not stopped: far longer than a busy machine keeps a stop from coming.
constexpr auto gives_up = 20s;
/// None: on a busy machine the time may be up before it begins.
enum class end { none, stopped, gave_up };

void compute(clock::duration d) {
    for (const auto begin = clock::now(); clock::now() - begin < d;) coflux::detail::cpu_pause();
}

coflux::call<int> computes(coflux::environment&, end& how) {
    auto stop = co_await coflux::this_coroutine::stop_token();
    const auto begin = clock::now();
    while (!stop.stop_requested() && clock::now() - begin < gives_up) coflux::detail::cpu_pause();
    how = stop.stop_requested() ? end::stopped : end::gave_up;
    co_return 1;
}
coflux::fork<int, pool> fork_computes(coflux::environment& here, borrowed<end> how) {
    auto&& own = co_await coflux::context();
    (void)here;
    co_return co_await computes(own, *how);
}
coflux::fork<void, pool> keeps_busy(coflux::environment&, borrowed<std::atomic<bool>> busy,
                                    borrowed<std::atomic<bool>> over) {
    *busy = true;
    while (!over->load()) coflux::detail::cpu_pause();
    co_return;
}

coflux::task<void, pool> beside_a_call(coflux::environment&) {
    auto&& here = co_await coflux::context();
    end how = end::none;
    const auto of_any = co_await coflux::when_any(coflux::sleep_for(20ms), computes(here, how));
    EXPECT_EQ(of_any.index(), 0U);
    EXPECT_NE(how, end::gave_up);
    how = end::none;
    const auto behind = co_await coflux::when_any(computes(here, how), coflux::sleep_for(20ms));
    EXPECT_EQ(behind.index(), 1U);
    EXPECT_NE(how, end::gave_up) << "a sleep begins before those that may compute";
    how = end::none;
    const auto literal = co_await coflux::when_any(20ms, computes(here, how));
    EXPECT_EQ(literal.index(), 0U);
    EXPECT_NE(how, end::gave_up);
    how = end::none;
    const auto until = clock::now() + 20ms;
    const auto of_three = co_await coflux::when_any(1h, coflux::sleep_until(until), computes(here, how));
    EXPECT_EQ(of_three.index(), 1U);
    EXPECT_NE(how, end::gave_up);
}
TEST(foretold_end, stops_a_call_that_computes_on_the_only_worker) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    beside_a_call(env).get();
}

coflux::task<void, pool> beside_a_fork(coflux::environment&) {
    auto&& here = co_await coflux::context();
    end how = end::none;
    auto child = fork_computes(here, borrowed(how));
    const auto first = co_await coflux::when_any(std::move(child), 20ms);
    EXPECT_EQ(first.index(), 1U);
    EXPECT_NE(how, end::gave_up);
}
TEST(foretold_end, stops_a_fork_that_computes_on_the_only_worker) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    beside_a_fork(env).get();
}

coflux::task<void, pool> while_another_computes(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::atomic<bool> busy{false}, over{false};
    auto other = keeps_busy(here, borrowed(busy), borrowed(over));
    while (!busy) coflux::detail::cpu_pause();
    end how = end::none;
    const auto first = co_await coflux::when_any(20ms, computes(here, how));
    over = true;
    EXPECT_EQ(first.index(), 0U);
    EXPECT_NE(how, end::gave_up);
    co_await std::move(other);
}
TEST(foretold_end, stops_a_call_where_all_workers_compute) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    while_another_computes(env).get();
}

coflux::task<void, pool> in_combinators(coflux::environment&) {
    auto&& here = co_await coflux::context();
    end one = end::none, two = end::none;
    const auto first = co_await coflux::when_any(20ms, coflux::when_all(computes(here, one), computes(here, two)));
    EXPECT_EQ(first.index(), 0U);
    EXPECT_NE(one, end::gave_up);
    EXPECT_NE(two, end::gave_up);
    one = two = end::none;
    const auto nested = co_await coflux::when_any(coflux::when_any(1h, computes(here, one)), 20ms);
    EXPECT_NE(one, end::gave_up) << nested.index();
}
TEST(foretold_end, stops_what_a_loser_waits_for) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    in_combinators(env).get();
}

coflux::task<void, noop> without_a_pool(coflux::environment&) {
    auto&& here = co_await coflux::context();
    end how = end::none;
    const auto first = co_await coflux::when_any(20ms, computes(here, how));
    EXPECT_EQ(first.index(), 0U);
    EXPECT_NE(how, end::gave_up);
}
TEST(foretold_end, stops_a_call_that_computes_without_an_executor) {
    auto env = coflux::make_environment(noop());
    without_a_pool(env).get();
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
TEST(foretold_end, counts_once_against_one_that_ends_at_the_same_time) {
    for (const std::size_t workers : {1U, 2U}) {
        pool threads(workers);
        auto env = coflux::make_environment(threads);
        const std::size_t rounds = coflux_test::repetitions(800);
        EXPECT_LT(against_one_that_ends(env, rounds, 5).get(), rounds);
    }
}

coflux::task<void, pool> stops_itself(coflux::environment&, borrowed<end> how, borrowed<flag> begun) {
    auto&& here = co_await coflux::context();
    begun->set();
    (void)co_await coflux::when_any(1h, computes(here, *how));
    ADD_FAILURE() << "was asked to stop";
}
TEST(foretold_end, is_forgotten_when_the_one_that_waits_is_stopped) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    end how = end::none;
    flag begun;
    auto t = stops_itself(env, borrowed(how), borrowed(begun));
    begun.wait();
    std::this_thread::sleep_for(10ms);  // it computes, most often
    t.request_stop();
    t.join();
    EXPECT_NE(how, end::gave_up);
}

// A sleep that comes due before it is waited for is not foretold: its end may come on another thread while the operands
// behind it begin, whose join words are no value yet.
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
TEST(foretold_end, stops_one_that_begins_when_it_comes_unforetold) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    EXPECT_EQ(four_of_them(env, 10'000).get(), 0U) << "a stop was lost";
}

}  // namespace
