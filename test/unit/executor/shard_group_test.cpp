#include <coflux/executor/shard_group.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/no_hang.hpp>

namespace {

using coflux::shard;
using coflux::shard_group;

coflux::task<std::size_t, shard> asks(coflux::environment&, shard_group* shards, std::size_t whom) {
    co_return co_await shards->submit_to(whom, [shards] { return *shards->here(); });
}

TEST(shard_group, calls_what_is_submitted_on_the_shard_that_is_named) {
    shard_group shards(3);
    for (std::size_t from = 0; from < 3; ++from) {
        auto env = coflux::make_environment(shards[from]);
        for (std::size_t to = 0; to < 3; ++to) EXPECT_EQ(asks(env, &shards, to).get(), to);
    }
    EXPECT_FALSE(shards.here().has_value());
}

coflux::task<std::size_t, coflux::thread_pool_executor> asks_from_a_pool(coflux::environment&, shard_group* shards,
                                                                         std::size_t whom) {
    co_return co_await shards->submit_to(whom, [shards] { return *shards->here(); });
}
coflux::task<std::size_t, coflux::noop_executor> asks_from_nowhere(coflux::environment&, shard_group* shards,
                                                                   std::size_t whom) {
    co_return co_await shards->submit_to(whom, [shards] { return *shards->here(); });
}

TEST(shard_group, takes_submissions_of_coroutines_that_run_elsewhere) {
    shard_group shards(2);
    coflux::thread_pool_executor threads(1);
    auto env = coflux::make_environment(threads, coflux::noop_executor());
    EXPECT_EQ(asks_from_a_pool(env, &shards, 1).get(), 1U);
    EXPECT_EQ(asks_from_nowhere(env, &shards, 1).get(), 1U);
}

coflux::task<int, shard> submits_what_throws(coflux::environment&, shard_group* shards) {
    try {
        co_await shards->submit_to(1, [] { throw std::runtime_error("there"); });
    } catch (const std::runtime_error& e) {
        co_return std::string(e.what()) == "there" ? 1 : 0;
    }
    co_return -1;
}

TEST(shard_group, gives_back_what_the_function_throws) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(submits_what_throws(env, &shards).get(), 1);
}

constexpr int many = 1000;  // more than a ring holds

coflux::fork<void, shard> adds_there(coflux::environment&, shard_group* shards, std::size_t to, int* sum, int times) {
    for (int i = 0; i < times; ++i) co_await shards->submit_to(to, [sum] { ++*sum; });
}
coflux::task<void, shard> many_add_there(coflux::environment&, shard_group* shards, std::size_t to, int* sum) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < many; ++i) adds_there(here, shards, to, sum, 10).attach();
}

TEST(shard_group, carries_out_more_than_its_rings_hold) {
    shard_group shards(2);
    auto first = coflux::make_environment(shards[0]);
    auto second = coflux::make_environment(shards[1]);
    int sums[2] = {};  // each belongs to one shard
    auto a = many_add_there(first, &shards, 1, &sums[1]);
    auto b = many_add_there(second, &shards, 0, &sums[0]);
    a.get();
    b.get();
    EXPECT_EQ(sums[0], many * 10);
    EXPECT_EQ(sums[1], many * 10);
}

coflux::fork<void, shard> notes_there(coflux::environment&, shard_group* shards, std::vector<int>* order, int number) {
    co_await shards->submit_to(1, [order, number] { order->push_back(number); });
}
coflux::task<void, shard> many_note_there(coflux::environment&, shard_group* shards, std::vector<int>* order) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < many; ++i) notes_there(here, shards, order, i).attach();
}

TEST(shard_group, carries_out_the_submissions_of_one_shard_in_their_order) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    std::vector<int> order;
    many_note_there(env, &shards, &order).get();
    ASSERT_EQ(order.size(), static_cast<std::size_t>(many));
    for (int i = 0; i < many; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

coflux::task<int, shard> asks_its_own_shard(coflux::environment&, shard_group* shards) {
    const auto before = std::this_thread::get_id();
    int there = 0;
    co_await shards->submit_to(0, [&there, before] { there = before == std::this_thread::get_id() ? 1 : -1; });
    co_return there;
}

TEST(shard_group, calls_what_is_submitted_to_the_own_shard_in_place) {
    shard_group shards(1);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(asks_its_own_shard(env, &shards).get(), 1);
}

coflux::task<std::string, shard> asks_for_other_results(coflux::environment&, shard_group* shards, std::size_t whom) {
    auto owned = co_await shards->submit_to(whom, [] { return std::make_unique<int>(3); });
    std::string text = "a";
    std::string& same = co_await shards->submit_to(whom, [&text]() -> std::string& { return text += "b"; });
    EXPECT_EQ(&same, &text);
    auto kept = std::make_unique<int>(4);
    const int given = co_await shards->submit_to(whom, [kept = std::move(kept)] { return *kept; });
    co_return text + std::to_string(*owned) + std::to_string(given);
}

TEST(shard_group, gives_results_that_only_move_and_references) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(asks_for_other_results(env, &shards, 0).get(), "ab34");
    EXPECT_EQ(asks_for_other_results(env, &shards, 1).get(), "ab34");
}

/// Its function runs when the stop has been requested.
coflux::fork<void, shard> is_stopped_while_it_asks(coflux::environment&, shard_group* shards, std::atomic<int>* step) {
    const int got = co_await shards->submit_to(1, [step] {
        step->store(1);
        while (step->load() != 2) std::this_thread::yield();
        return 7;
    });
    step->store(got);
    co_await coflux::yield();
    step->store(-1);
}
coflux::task<void, shard> stops_one_that_asks(coflux::environment&, shard_group* shards, std::atomic<int>* step) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    is_stopped_while_it_asks(sub, shards, step).attach();
    while (step->load() != 1) co_await coflux::yield();
    sub.request_stop();
    step->store(2);
    co_await sub.join();
}

TEST(shard_group, gives_the_result_of_what_was_submitted_before_a_stop) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    std::atomic<int> step{0};
    stops_one_that_asks(env, &shards, &step).get();
    EXPECT_EQ(step.load(), 7) << "the result came, and the next await stopped the coroutine";
}

TEST(shard_group, wakes_a_shard_that_sleeps) {
    shard_group shards(coflux::shard_options{.shards = 2, .spin = std::chrono::nanoseconds(0)});
    auto env = coflux::make_environment(shards[0]);
    const auto program = [](coflux::environment&, shard_group* all) -> coflux::task<int, shard> {
        int sum = 0;
        for (int i = 0; i < 1000; ++i) sum += co_await all->submit_to(1, [i] { return i; });
        co_return sum;
    };
    EXPECT_EQ(program(env, &shards).get(), 1000 * 999 / 2);
}

TEST(shard_group, allocates_nothing_for_a_submission) {
    shard_group shards(2);
    coflux::counting_resource counted;
    auto env = coflux::make_environment(&counted, shards[0]);
    const auto program = [](coflux::environment&, shard_group* all,
                            coflux::counting_resource* count) -> coflux::task<bool, shard> {
        co_await all->submit_to(1, [] {});
        const auto before = count->allocations();
        for (int i = 0; i < 100; ++i) co_await all->submit_to(1, [] {});
        co_return count->allocations() == before;
    };
    EXPECT_TRUE(program(env, &shards, &counted).get());
}

coflux::fork<std::size_t, shard> tells_its_shard(coflux::environment&, shard_group* shards) {
    co_await coflux::yield();
    co_return *shards->here();
}
coflux::task<std::size_t, shard> forks_on_another_shard(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    auto there = coflux::make_environment(here, (*shards)[1]);
    const std::size_t told = co_await tells_its_shard(there, shards);
    co_await there.join();
    co_return told;
}

TEST(shard_group, runs_forks_of_an_environment_that_names_a_shard_there) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(forks_on_another_shard(env, &shards).get(), 1U);
}

coflux::task<std::string, shard> moves_to_another(coflux::environment&, shard_group* shards) {
    std::string told;
    const auto tell = [shards] { return std::to_string(*shards->here()); };
    co_await coflux::resume_on((*shards)[1]);
    told += tell() + co_await shards->submit_to(0, tell) + tell() + co_await shards->submit_to(1, tell) + tell();
    co_await coflux::resume_on((*shards)[0]);
    co_return told + tell();
}

TEST(shard_group, resumes_where_the_coroutine_has_moved_to) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0], shards[1]);
    EXPECT_EQ(moves_to_another(env, &shards).get(), "101110");
}

using strand = coflux::strand<shard>;
coflux::task<std::string, strand> asks_from_a_strand(coflux::environment&, shard_group* shards) {
    std::string told;
    const auto tell = [shards] { return std::to_string(shards->here().value_or(9)); };
    told += tell();
    for (std::size_t i = 0; i < 2; ++i) told += co_await shards->submit_to(i, tell) + tell();
    co_return told;
}

TEST(shard_group, takes_submissions_from_a_strand_over_a_shard_and_from_another_group) {
    shard_group shards(2);
    shard_group others(2);
    strand over(shards[0]);
    auto env = coflux::make_environment(over);
    EXPECT_EQ(asks_from_a_strand(env, &shards).get(), "00010");
    auto there = coflux::make_environment(others[1]);
    EXPECT_EQ(asks(there, &shards, 0).get(), 0U);
    EXPECT_EQ(asks(there, &shards, 1).get(), 1U);
}

coflux::task<int, coflux::noop_executor> makes_one_there(coflux::environment&, coflux::environment* in,
                                                         shard_group* shards, std::atomic<int>* ended) {
    const auto answers = [](coflux::environment&, std::atomic<int>* e) -> coflux::task<int, shard> {
        co_await coflux::yield();
        e->fetch_add(1);
        co_return 1;
    };
    const auto begins_there = [](coflux::environment&, shard_group* all,
                                 std::atomic<int>* e) -> coflux::task<int, coflux::noop_executor> {
        // Begins inside the function, on the shard, and suspends there.
        const int got = co_await all->submit_to(0, [] { return 2; });
        e->fetch_add(1);
        co_return got;
    };
    auto made =
        co_await shards->submit_to(1, [&] { return std::pair(answers(*in, ended), begins_there(*in, shards, ended)); });
    co_return co_await std::move(made.first) + co_await std::move(made.second);
}

TEST(shard_group, calls_a_function_that_makes_coroutines) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[1], coflux::noop_executor());
    std::atomic<int> ended{0};
    EXPECT_EQ(makes_one_there(env, &env, &shards, &ended).get(), 3);
    EXPECT_EQ(ended.load(), 2);
}

/// Sends it by a ring; the coroutine that the function makes begins beside the messages.
coflux::task<int, shard> has_many_made(coflux::environment&, coflux::environment* in, shard_group* shards, int times) {
    const auto begins_there = [](coflux::environment&, shard_group* all) -> coflux::task<int, coflux::noop_executor> {
        co_return co_await all->submit_to(0, [] { return 1; });
    };
    int sum = 0;
    for (int i = 0; i < times; ++i) {
        auto made = co_await shards->submit_to(1, [&] { return begins_there(*in, shards); });
        sum += co_await std::move(made);
    }
    co_return sum;
}

TEST(shard_group, calls_functions_that_make_coroutines_where_no_coroutine_runs) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0], coflux::noop_executor());
    EXPECT_EQ(has_many_made(env, &env, &shards, 200).get(), 200);
}

coflux::fork<void, shard> is_stopped_by_its_function(coflux::environment&, coflux::environment* scope,
                                                     shard_group* shards, std::size_t whom, int* got) {
    *got = co_await shards->submit_to(whom, [scope] {
        scope->request_stop();
        return 4;
    });
    co_await coflux::yield();
    *got = -1;
}
coflux::task<int, shard> has_it_stopped(coflux::environment&, shard_group* shards, std::size_t whom) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    int got = 0;
    is_stopped_by_its_function(sub, &sub, shards, whom, &got).attach();
    co_await sub.join();
    co_return got;
}

TEST(shard_group, calls_a_function_that_stops_the_submitter) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(has_it_stopped(env, &shards, 0).get(), 4);
    EXPECT_EQ(has_it_stopped(env, &shards, 1).get(), 4);
}

coflux::fork<void, shard> asks_when_stopped(coflux::environment&, shard_group* shards, int* calls) {
    co_await shards->submit_to(1, [calls] { ++*calls; });
    ++*calls;
}
coflux::task<int, shard> stops_before(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    int calls = 0;
    sub.request_stop();
    asks_when_stopped(sub, shards, &calls).attach();
    co_await sub.join();
    co_return calls;
}

TEST(shard_group, sends_nothing_after_a_stop) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(stops_before(env, &shards).get(), 0);
}

/// Throws in the move of choice.
struct moves_badly {
    explicit moves_badly(int* to) : left(to) {}
    moves_badly(moves_badly&& other) : left(other.left) {
        if (--*left == 0) throw std::runtime_error("moved");
    }
    int* left;
};
coflux::task<int, shard> asks_for_what_moves_badly(coflux::environment&, shard_group* shards, std::size_t whom) {
    int threw = 0;
    for (int at = 1; at < 12; ++at) {
        int left = at;
        try {
            (void)co_await shards->submit_to(whom, [&left] { return moves_badly(&left); });
        } catch (const std::runtime_error&) {
            ++threw;
        }
        if (left > 0) break;  // there are no more moves
    }
    co_return threw;
}

TEST(shard_group, gives_what_the_move_of_a_result_throws) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_GE(asks_for_what_moves_badly(env, &shards, 0).get(), 1);
    EXPECT_GE(asks_for_what_moves_badly(env, &shards, 1).get(), 1);
}

coflux::task<int, shard> submits_what_moves_badly(coflux::environment&, shard_group* shards, std::size_t whom) {
    int threw = 0;
    int calls = 0;
    for (int at = 1; at < 12; ++at) {
        int left = at;
        const int before = calls;
        try {
            moves_badly argument(&left);
            co_await shards->submit_to(whom, [&calls, kept = std::move(argument)] { ++calls; });
        } catch (const std::runtime_error&) {
            ++threw;
            EXPECT_EQ(calls, before) << "nothing was sent";
        }
        if (left > 0) break;
    }
    EXPECT_EQ(calls, 1);
    co_return threw;
}

TEST(shard_group, gives_what_the_move_of_a_function_throws) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_GE(submits_what_moves_badly(env, &shards, 0).get(), 1);
    EXPECT_GE(submits_what_moves_badly(env, &shards, 1).get(), 1);
}

coflux::task<void, shard> blocks(coflux::environment&, coflux::environment* in, shard_group* shards) {
    co_await shards->submit_to(1, [=] { (void)asks(*in, shards, 1).get(); });
}

TEST(shard_group_death, blocks_a_shard_for_a_task_of_its_own) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            shard_group shards(2);
            auto env = coflux::make_environment(shards[0], shards[1]);
            blocks(env, &env, &shards).get();
        },
        "asks");
}

TEST(shard_group_death, has_no_shard_of_a_number_that_is_too_large) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            shard_group shards(2);
            (void)shards[2];
        },
        "shard 2 of 2");
}

}  // namespace
