// Coroutines of one scope on executors of every kind, a user's own among them.
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using coflux_test::thread_executor;

/// A kind of executor, with the one below it.
struct on_pool {
    using type = pool;
    pool threads{2};
    type& executor() { return threads; }
};
struct on_worker {
    using type = coflux::worker_executor;
    type worker;
    type& executor() { return worker; }
};
struct on_group {
    using type = coflux::worker_group<2>::worker<1>;
    coflux::worker_group<2> group;
    type worker = group.get<1>();
    type& executor() { return worker; }
};
template <typename Below>
struct on_strand {
    using type = coflux::strand<typename Below::type>;
    Below below;
    type strand{below.executor()};
    type& executor() { return strand; }
};
struct on_shard {
    using type = coflux::shard;
    coflux::shard_group shards{2};
    type& executor() { return shards[1]; }
};
struct on_users_own {
    using type = thread_executor;
    thread_executor thread;
    type& executor() { return thread; }
};
/// A run_loop that a thread runs.
struct on_loop {
    using type = coflux::run_loop;
    type loop;
    std::thread runs{[this] { loop.run(); }};
    ~on_loop() {
        loop.stop();
        runs.join();
    }
    type& executor() { return loop; }
};

template <typename E>
coflux::fork<int, E> works(coflux::environment&, int n) {
    co_await coflux::yield();
    auto&& here = co_await coflux::context();
    if (n == 0) co_return 1;
    auto a = works<E>(here, n - 1);
    auto b = works<E>(here, n - 1);
    co_return co_await std::move(a) + co_await std::move(b);
}
template <typename E>
coflux::fork<int, E> throws(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("of a child");
}
template <typename E>
coflux::fork<void, E> sleeps(coflux::environment&) {
    co_await coflux::sleep_for(1h);
}

template <typename Home, typename Away>
coflux::task<int, Home> shares_work(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = works<Home>(here, 6);
    auto b = works<Away>(here, 6);
    auto c = works<Home>(here, 6);
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_return x + y + co_await std::move(c);
}
template <typename Home, typename Away>
coflux::task<int, Home> catches(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = works<Away>(here, 4);
    bool caught = false;
    try {
        co_await throws<Away>(here);
    } catch (const std::runtime_error&) {
        caught = true;
    }
    const int worked = co_await std::move(a);
    co_return caught ? worked : -1;
}
template <typename Home, typename Away>
coflux::task<int, Home> stops_a_sleeper(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto winner = works<Home>(here, 2);
    auto loser = sleeps<Away>(here);
    const auto first = co_await coflux::when_any(std::move(loser), std::move(winner));
    co_return static_cast<int>(first.index());
}
template <typename Home, typename Away>
coflux::task<int, Home> visits(coflux::environment&, Home* home, Away* away) {
    int hops = 0;
    for (; hops < 200; ++hops) {
        if (hops % 2 == 0) {
            co_await coflux::resume_on(*away);
        } else {
            co_await coflux::resume_on(*home);
        }
    }
    co_return hops;
}
template <typename Home, typename Away>
coflux::task<int, Home> times_out(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto slept = co_await coflux::timeout(sleeps<Away>(here), 1ms);
    co_return slept ? 0 : 1;
}
/// A channel between them.
template <typename E>
coflux::fork<void, E> sends(coflux::environment&, coflux::channel<int[4]>* to, int n) {
    for (int i = 0; i < n; ++i) (void)co_await to->send(i);
    to->close();
}
template <typename Home, typename Away>
coflux::task<int, Home> receives(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::channel<int[4]> c;
    auto sender = sends<Away>(here, &c, 1000);
    int sum = 0;
    while (const auto got = co_await c.receive()) sum += *got;
    co_await std::move(sender);
    co_return sum;
}

template <typename Pair>
class mixed_executors : public testing::Test {};

template <typename Home, typename Away>
struct pair_of {
    using home = Home;
    using away = Away;
};
using pairs =
    testing::Types<pair_of<on_pool, on_worker>, pair_of<on_worker, on_pool>, pair_of<on_pool, on_strand<on_pool>>,
                   pair_of<on_strand<on_worker>, on_shard>, pair_of<on_shard, on_strand<on_users_own>>,
                   pair_of<on_users_own, on_loop>, pair_of<on_loop, on_group>,
                   pair_of<on_group, on_strand<on_strand<on_pool>>>, pair_of<on_strand<on_loop>, on_users_own>>;
TYPED_TEST_SUITE(mixed_executors, pairs);

template <typename Pair, typename Run>
void run_on(Run run) {
    typename Pair::home home;
    typename Pair::away away;
    auto env = coflux::make_environment(home.executor(), away.executor());
    run(env, home.executor(), away.executor());
}

TYPED_TEST(mixed_executors, share_the_work_of_a_scope) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) {
        auto t = shares_work<std::remove_cvref_t<decltype(home)>, std::remove_cvref_t<decltype(away)>>(env);
        EXPECT_EQ(t.get(), 3 * 64);
    });
}
TYPED_TEST(mixed_executors, pass_an_error_to_the_awaiter) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) {
        auto t = catches<std::remove_cvref_t<decltype(home)>, std::remove_cvref_t<decltype(away)>>(env);
        EXPECT_EQ(t.get(), 16);
    });
}
TYPED_TEST(mixed_executors, stop_what_lost_a_race) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) {
        auto t = stops_a_sleeper<std::remove_cvref_t<decltype(home)>, std::remove_cvref_t<decltype(away)>>(env);
        EXPECT_EQ(t.get(), 1);
    });
}
TYPED_TEST(mixed_executors, carry_a_coroutine_to_and_fro) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) { EXPECT_EQ(visits(env, &home, &away).get(), 200); });
}
TYPED_TEST(mixed_executors, keep_the_time_of_a_child_elsewhere) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) {
        auto t = times_out<std::remove_cvref_t<decltype(home)>, std::remove_cvref_t<decltype(away)>>(env);
        EXPECT_EQ(t.get(), 1);
    });
}
TYPED_TEST(mixed_executors, are_connected_by_a_channel) {
    run_on<TypeParam>([](auto& env, auto& home, auto& away) {
        auto t = receives<std::remove_cvref_t<decltype(home)>, std::remove_cvref_t<decltype(away)>>(env);
        EXPECT_EQ(t.get(), 999 * 1000 / 2);
    });
}

template <std::size_t N>
using nth_worker = coflux::nth<coflux::worker_executor, N>;
template <std::size_t N>
coflux::fork<std::thread::id, nth_worker<N>> where(coflux::environment&) {
    co_return std::this_thread::get_id();
}
coflux::task<int, pool> asks_where(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto first = co_await where<0>(here);
    const auto second = co_await where<1>(here);
    const auto again = co_await where<0>(here);
    co_return first == again&& first != second ? 1 : 0;
}

TEST(mixed_executors_of_one_type, are_chosen_by_their_position) {
    coflux::worker_executor a;
    coflux::worker_executor b;
    pool threads(1);
    auto env = coflux::make_environment(threads, a, b);
    EXPECT_EQ(asks_where(env).get(), 1);
}

TEST(mixed_executors_of_one_type, may_belong_to_the_environment) {
    auto env = coflux::make_environment(pool(1), coflux::worker_executor(), coflux::worker_executor());
    EXPECT_EQ(asks_where(env).get(), 1);
}

}  // namespace
