// Submissions among the other operations: in combinators, limits, selects, under shields, beside timers and channels.
#include <coflux/executor/shard_group.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::shard;
using coflux::shard_group;
using coflux::sharded;

coflux::task<std::string, shard> combines(coflux::environment&, shard_group* shards) {
    const auto tell = [shards] { return std::to_string(*shards->here()); };
    auto [own, one, two] =
        co_await coflux::when_all(shards->submit_to(0, tell), shards->submit_to(1, tell), shards->submit_to(2, tell));
    std::string told = own + one + two;
    told += co_await coflux::race(shards->submit_to(1, tell), shards->submit_to(1, tell));
    auto chosen = co_await coflux::select(shards->submit_to(2, tell), coflux::sleep_for(10h));
    told += get<0>(chosen);
    told += co_await coflux::shielded(shards->submit_to(1, tell));
    const auto in_time = co_await coflux::timeout(shards->submit_to(2, tell), 10h);
    told += in_time.value_or("late");
    const auto before = co_await coflux::deadline(shards->submit_to(1, tell), coflux::clock::now() + 10h);
    told += before.value_or("late");
    told += co_await coflux::first_success(shards->submit_to(2, tell));
    co_return told;
}

TEST(shard_group_compose, gives_submissions_to_combinators_limits_selects_and_shields) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(combines(env, &shards).get(), "012121212");
}

coflux::task<std::string, shard> asks_for_outcomes(coflux::environment&, shard_group* shards, std::size_t whom) {
    const auto value = co_await coflux::as_outcome(shards->submit_to(whom, [] { return 3; }));
    const auto error =
        co_await coflux::as_outcome(shards->submit_to(whom, []() -> int { throw std::runtime_error("there"); }));
    std::string told = std::to_string(*value);
    try {
        (void)error.value();
    } catch (const std::runtime_error& e) {
        told += e.what();
    }
    co_return told;
}

TEST(shard_group_compose, gives_outcomes_of_submissions) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(asks_for_outcomes(env, &shards, 0).get(), "3there");
    EXPECT_EQ(asks_for_outcomes(env, &shards, 1).get(), "3there");
}

/// A request that is kept for a while, and awaited later.
coflux::task<int, shard> awaits_a_named_one(coflux::environment&, shard_group* shards) {
    auto asked = shards->submit_to(1, [] { return 5; });
    co_return co_await std::move(asked);
}

TEST(shard_group_compose, sends_what_was_named_first_at_its_await) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(awaits_a_named_one(env, &shards).get(), 5);
}

/// The function ends only when time is up; its result counts nevertheless. -2 where it was not called.
coflux::task<int, shard> is_late(coflux::environment&, shard_group* shards, std::chrono::milliseconds limit) {
    std::atomic<bool> over{false};
    auto limited = [](coflux::environment&, shard_group* all, std::atomic<bool>* done) -> coflux::call<int> {
        auto stop = co_await coflux::this_coroutine::stop_token();
        auto waits = [done, stop] {
            while (!stop.stop_requested()) {}
            done->store(true);
            return 9;
        };
        co_return co_await all->submit_to(1, waits);
    };
    auto&& here = co_await coflux::context();
    const auto got = co_await coflux::timeout(limited(here, shards, &over), limit);
    co_return over.load() ? got.value_or(-1) : -2;
}

TEST(shard_group_compose, a_limit_waits_for_what_was_sent_and_gives_its_result) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    // On a busy machine time may be up before the function is sent; then it is not sent.
    int got = -2;
    for (auto limit = 1ms; got == -2 && limit < 5s; limit *= 4) got = is_late(env, &shards, limit).get();
    EXPECT_EQ(got, 9);
}

/// Answers from memory; one of these a shard.
class cache {
public:
    int get(const std::string& key) {
        auto [at, is_new] = known_.try_emplace(key, 0);
        if (is_new) at->second = static_cast<int>(key.size());
        return at->second;
    }
    std::size_t size() const { return known_.size(); }

private:
    std::unordered_map<std::string, int> known_;
};
coflux::fork<int, shard> client(coflux::environment&, shard_group* shards, sharded<cache>* all, int number) {
    int sum = 0;
    for (int i = 0; i < 50; ++i) {
        const std::string key = "k" + std::to_string((i * 7 + number) % 40);
        const std::size_t home = std::hash<std::string>()(key) % shards->size();
        sum += co_await all->invoke_on(home, [&key](cache& c) { return c.get(key); });
        if (i % 10 == 0) co_await coflux::sleep_for(1us);
    }
    co_return sum;
}
coflux::task<std::size_t, shard> serves(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    sharded<cache> all(*shards);
    co_await all.start(here);
    std::vector<coflux::fork<int, shard>> clients;
    for (int i = 0; i < 20; ++i) {
        auto there = coflux::make_environment(here, (*shards)[static_cast<std::size_t>(i) % shards->size()]);
        clients.push_back(client(there, shards, &all, i));
        std::size_t seen =
            co_await all.map_reduce(here, [](cache& c) { return c.size(); }, std::size_t{0}, std::plus<>());
        EXPECT_LE(seen, 40U) << "while the clients ask";
        co_await there.join();
    }
    for (int sum : co_await coflux::when_all(std::move(clients))) EXPECT_GE(sum, 100);
    const bool all_filled = co_await all.map_reduce(
        here, [](cache& c) { return c.size() != 0; }, true, [](bool a, bool b) { return a && b; });
    EXPECT_TRUE(all_filled);
    const std::size_t sum =
        co_await all.map_reduce(here, [](cache& c) { return c.size(); }, std::size_t{0}, std::plus<>());
    co_await all.stop(here);
    co_return sum;
}

TEST(shard_group_compose, serves_a_cache_that_is_reduced_meanwhile) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(serves(env, &shards).get(), 40U);
}

using inbox = coflux::channel<int[4]>;
coflux::fork<void, shard> sends(coflux::environment&, borrowed<inbox> to, int from, int count) {
    for (int i = 0; i < count; ++i) (void)co_await to->send(from + i);
}
coflux::task<int, shard> receives_from_the_others(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    inbox numbers;
    int sum = 0;
    auto one = coflux::make_environment(here, (*shards)[1]);
    auto two = coflux::make_environment(here, (*shards)[2]);
    auto a = sends(one, borrowed(numbers), 0, 100);
    auto b = sends(two, borrowed(numbers), 100, 100);
    for (int i = 0; i < 200; ++i) {
        sum += (co_await numbers.receive()).value_or(-10000);
        if (i % 50 == 0) sum += co_await shards->submit_to(1, [] { return 0; });
    }
    co_await std::move(a);
    co_await std::move(b);
    co_await one.join();
    co_await two.join();
    co_return sum;
}

TEST(shard_group_compose, joins_channels_between_shards) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(receives_from_the_others(env, &shards).get(), 199 * 200 / 2);
}

coflux::fork<std::size_t, shard> sleeps_there(coflux::environment&, shard_group* shards) {
    co_await coflux::sleep_for(1ms);
    co_return *shards->here();
}
coflux::task<std::size_t, shard> has_all_sleep(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (std::size_t i = 0; i < shards->size(); ++i) {
        auto there = coflux::make_environment(here, (*shards)[i]);
        sum += co_await sleeps_there(there, shards);
        co_await there.join();
    }
    co_return sum;
}

TEST(shard_group_compose, has_timers_on_each_shard) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(has_all_sleep(env, &shards).get(), 3U);
}

}  // namespace
