// Rings that are full, receivers that compute for long, and many more shards than processors.
#include <coflux/executor/shard_group.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <time.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>
#include <support/witness.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::message_fence;
using coflux::shard;
using coflux::shard_group;
using coflux_test::flag;

constexpr int many = 1000;  // more than a ring holds

/// The processor time of another thread.
class other_threads_clock {
public:
    explicit other_threads_clock(pthread_t of) { EXPECT_EQ(pthread_getcpuclockid(of, &id_), 0); }
    [[nodiscard]] std::chrono::nanoseconds now() const {
        timespec t{};
        EXPECT_EQ(clock_gettime(id_, &t), 0);
        return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    }
    /// Whether the thread comes to use next to no processor: a share of the time, which only the clock shows.
    [[nodiscard]] bool comes_to_rest() const {
        for (int looks = 0; looks < 500; ++looks) {
            const auto before = now();
            std::this_thread::sleep_for(20ms);
            if (now() - before < 1ms) return true;
        }
        return false;
    }

private:
    clockid_t id_{};
};

/// A shard whose thread is kept in a function until it is let go.
struct kept_busy {
    flag begun;
    flag go_on;
    std::vector<int> order;  // of the shard that is kept
    void operator()() noexcept {
        begun.set();
        go_on.wait();
    }
};

coflux::fork<void, shard> notes_there(coflux::environment&, shard_group* shards, std::vector<int>* order, int number) {
    co_await shards->submit_to(1, [order, number] { order->push_back(number); });
}
coflux::fork<void, shard> keeps_there(coflux::environment&, shard_group* shards, kept_busy* kept) {
    co_await shards->submit_to(1, [kept] { (*kept)(); });
}
coflux::task<pthread_t, shard> tells_its_thread(coflux::environment&) {
    co_return pthread_self();
}
coflux::task<void, shard> fills_the_ring(coflux::environment&, shard_group* shards, kept_busy* kept) {
    auto&& here = co_await coflux::context();
    keeps_there(here, shards, kept).attach();
    for (int i = 0; i < many; ++i) notes_there(here, shards, &kept->order, i).attach();
}

class shard_group_fences : public testing::TestWithParam<message_fence> {
protected:
    static coflux::shard_options options(std::size_t shards) { return {.shards = shards, .fence = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(fenced, shard_group_fences,
                         testing::Values(message_fence::automatic, message_fence::by_sleeper, message_fence::by_sender),
                         [](const auto& info) {
                             return info.param == message_fence::automatic    ? "automatic"
                                    : info.param == message_fence::by_sleeper ? "by_sleeper"
                                                                              : "by_sender";
                         });
#define COFLUX_MAKE_GROUP(name, options)                  \
    std::optional<shard_group> made_##name;               \
    try {                                                 \
        made_##name.emplace(options);                     \
    } catch (const std::system_error& e) {                \
        ASSERT_EQ(GetParam(), message_fence::by_sleeper); \
        GTEST_SKIP() << e.what();                         \
    }                                                     \
    shard_group& name = *made_##name

TEST_P(shard_group_fences, have_a_sender_with_a_full_ring_sleep_until_there_is_room) {
    COFLUX_MAKE_GROUP(shards, options(2));
    auto env = coflux::make_environment(shards[0]);
    kept_busy kept;
    const other_threads_clock sender(tells_its_thread(env).get());
    auto t = fills_the_ring(env, &shards, &kept);
    kept.begun.wait();
    EXPECT_TRUE(sender.comes_to_rest()) << "it looks again and again for room";
    kept.go_on.set();
    t.get();
    ASSERT_EQ(kept.order.size(), static_cast<std::size_t>(many));
    for (int i = 0; i < many; ++i) EXPECT_EQ(kept.order[static_cast<std::size_t>(i)], i);
}

coflux::task<int, shard> adds_up(coflux::environment&, shard_group* shards, int times) {
    int sum = 0;
    for (int i = 0; i < times; ++i) sum += co_await shards->submit_to(1, [i] { return i; });
    co_return sum;
}

TEST_P(shard_group_fences, have_each_message_wake_a_shard_that_sleeps) {
    auto o = options(2);
    o.spin = 0ns;
    COFLUX_MAKE_GROUP(shards, o);
    auto env = coflux::make_environment(shards[0]);
    const int times = static_cast<int>(coflux_test::repetitions(20'000));
    EXPECT_EQ(adds_up(env, &shards, times).get(), (times - 1) * times / 2);
}

coflux::fork<void, shard> asks_all(coflux::environment&, shard_group* shards, std::atomic<int>* count, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        for (std::size_t i = 0; i < shards->size(); ++i)
            co_await shards->submit_to(i, [count] { count->fetch_add(1); });
    }
}
coflux::task<void, shard> asks_from(coflux::environment&, shard_group* shards, std::atomic<int>* count, int rounds) {
    auto&& here = co_await coflux::context();
    for (int k = 0; k < 4; ++k) asks_all(here, shards, count, rounds).attach();
}

TEST_P(shard_group_fences, serve_many_shards_on_few_processors) {
    constexpr std::size_t n = 64;
    constexpr int rounds = 4;
    COFLUX_MAKE_GROUP(shards, options(n));
    std::atomic<int> count{0};
    std::deque<coflux::environment_of<shard&>> environments;
    std::vector<coflux::task<void, shard>> roots;
    for (std::size_t i = 0; i < n; ++i) {
        environments.emplace_back(shards[i]);
        roots.push_back(asks_from(environments[i], &shards, &count, rounds));
    }
    for (auto& t : roots) t.get();
    EXPECT_EQ(count.load(), static_cast<int>(n * n) * 4 * rounds);
}

/// Steps that take long: what the thread of the shard does meanwhile is the test's own.
void compute_for_a_while() {
    const auto end = std::chrono::steady_clock::now() + 100us;
    while (std::chrono::steady_clock::now() < end) {}
}
struct sightings {
    int carried_out = 0;
    int most_between_turns = 0;
    bool over = false;
};
coflux::fork<void, shard> computes_there(coflux::environment&, shard_group* shards, sightings* seen) {
    for (int i = 0; i < 20; ++i) {
        co_await shards->submit_to(1, [seen] {
            compute_for_a_while();
            ++seen->carried_out;
        });
    }
}
coflux::task<void, shard> floods(coflux::environment&, shard_group* shards, sightings* seen) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (int i = 0; i < 100; ++i) computes_there(sub, shards, seen).attach();
    co_await sub.join();
    co_await shards->submit_to(1, [seen] { seen->over = true; });
}
coflux::task<void, shard> takes_turns(coflux::environment&, sightings* seen) {
    while (!seen->over) {
        const int before = seen->carried_out;
        co_await coflux::yield();
        // The first turns are for learning how long the functions take.
        if (before > many) seen->most_between_turns = std::max(seen->most_between_turns, seen->carried_out - before);
    }
}

TEST(shard_group_fairness, carries_out_few_long_functions_between_the_turns_of_its_own_coroutines) {
    shard_group shards(2);
    auto first = coflux::make_environment(shards[0]);
    auto second = coflux::make_environment(shards[1]);
    sightings seen;
    auto own = takes_turns(second, &seen);
    floods(first, &shards, &seen).get();
    own.get();
    EXPECT_EQ(seen.carried_out, 2000);
    EXPECT_LE(seen.most_between_turns, 10) << "25 us' worth, and some";
}

/// Rings of two senders, filled while the receiver, shard 1, is kept.
coflux::task<void, shard> notes_one(coflux::environment&, shard_group* shards, std::vector<int>* order) {
    co_await shards->submit_to(1, [order] { order->push_back(-1); });
}

TEST(shard_group_fairness, serves_a_sender_of_one_message_beside_one_with_a_full_ring) {
    shard_group shards(3);
    auto first = coflux::make_environment(shards[0]);
    auto third = coflux::make_environment(shards[2]);
    kept_busy kept;
    const other_threads_clock senders[] = {other_threads_clock(tells_its_thread(first).get()),
                                           other_threads_clock(tells_its_thread(third).get())};
    auto flood = fills_the_ring(first, &shards, &kept);
    kept.begun.wait();
    auto one = notes_one(third, &shards, &kept.order);
    for (const auto& s : senders) EXPECT_TRUE(s.comes_to_rest());
    kept.go_on.set();
    flood.get();
    one.get();
    const auto found = std::find(kept.order.begin(), kept.order.end(), -1);
    EXPECT_LE(found - kept.order.begin(), 64) << "it comes after one turn of the other";
}

/// While shard 0 computes, shard 1 has more for it than the ring holds: answers, and then questions of its own. Shard 0
/// has no message for shard 1 that would wake it.
struct late_taker {
    kept_busy kept;
    flag asked;  // shard 1 has questions queued
    const other_threads_clock* other = nullptr;
    int sent = 0;      // of shard 0
    int answered = 0;  // of shard 1
};
coflux::fork<void, shard> asks_once(coflux::environment&, shard_group* shards, std::size_t whom, int* sent,
                                    int* answered) {
    ++*sent;
    co_await shards->submit_to(whom, [answered] { ++*answered; });
}
coflux::task<void, shard> takes_answers_late(coflux::environment&, shard_group* shards, late_taker* with) {
    auto&& here = co_await coflux::context();
    keeps_there(here, shards, &with->kept).attach();
    while (!with->kept.begun.is_set()) co_await coflux::yield();
    for (int i = 0; i < 255; ++i) asks_once(here, shards, 1, &with->sent, &with->answered).attach();
    while (with->sent != 255) co_await coflux::yield();
    with->asked.wait();
    with->kept.go_on.set();
    EXPECT_TRUE(with->other->comes_to_rest());
}
coflux::task<void, shard> asks_often(coflux::environment&, shard_group* shards, late_taker* with) {
    auto&& here = co_await coflux::context();
    while (with->answered != 255) co_await coflux::yield();
    int sent = 0;
    int answered = 0;
    auto sub = coflux::make_environment(here);
    for (int i = 0; i < 50; ++i) asks_once(sub, shards, 0, &sent, &answered).attach();
    co_await sub.join();
}

TEST_P(shard_group_fences, have_one_that_finds_no_room_for_answers_sleep_until_there_is_some) {
    COFLUX_MAKE_GROUP(shards, options(2));
    auto first = coflux::make_environment(shards[0]);
    auto second = coflux::make_environment(shards[1]);
    late_taker with;
    const other_threads_clock answerer(tells_its_thread(second).get());
    with.other = &answerer;
    auto takes = takes_answers_late(first, &shards, &with);
    with.kept.begun.wait();
    auto asks = asks_often(second, &shards, &with);
    with.asked.set();
    takes.get();
    asks.get();
}

}  // namespace
