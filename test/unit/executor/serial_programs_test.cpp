// Programs on executors that run one coroutine at a time: operations inside operations, on each kind of them.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::thread_executor;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

/// Two serial executors of a type, and a pool; the last member dies first.
template <std::size_t Workers>
struct strands_of_pool {
    using type = coflux::strand<pool>;
    pool threads{Workers};
    type one{threads};
    type other{threads};
};
struct strands_of_strand {
    using below = coflux::strand<pool>;
    using type = coflux::strand<below>;
    pool threads{2};
    below lower{threads};
    type one{lower};
    type other{lower};
};
struct strands_of_worker {
    using type = coflux::strand<coflux::worker_executor>;
    pool threads{2};
    coflux::worker_executor worker;
    type one{worker};
    type other{worker};
};
struct strands_of_users_own {
    using type = coflux::strand<thread_executor>;
    pool threads{2};
    thread_executor thread;
    type one{thread};
    type other{thread};
};
/// Threads that run loops.
struct runs_loop {
    explicit runs_loop(coflux::run_loop& l) : loop(l) {}
    ~runs_loop() {
        loop.stop();
        thread.join();
    }
    coflux::run_loop& loop;
    std::thread thread{[this] { loop.run(); }};
};
struct strands_of_loop {
    using type = coflux::strand<coflux::run_loop>;
    pool threads{2};
    coflux::run_loop loop;
    type one{loop};
    type other{loop};
    runs_loop runs{loop};
};
struct workers {
    using type = coflux::worker_executor;
    pool threads{2};
    type one;
    type other;
};
struct loops {
    using type = coflux::run_loop;
    pool threads{2};
    type one;
    type other;
    runs_loop runs_one{one};
    runs_loop runs_other{other};
};

template <typename World>
class serial_programs : public testing::Test {
protected:
    using serial = typename World::type;

    template <typename F>
    void run(F f) {
        const watchdog guard("a program of a serial executor");
        World w;
        auto env = coflux::make_environment(w.one, w.other, w.threads);
        f(env);
    }
};
using worlds = testing::Types<strands_of_pool<1>, strands_of_pool<2>, strands_of_pool<8>, strands_of_strand,
                              strands_of_worker, strands_of_users_own, strands_of_loop, workers, loops>;
TYPED_TEST_SUITE(serial_programs, worlds);

template <typename E>
using second = coflux::nth<E, 1>;

// --- children on two of them, and on a pool --------------------------------------------------------------------------

template <typename E>
coflux::fork<int, E> hops(coflux::environment&, int n) {
    for (int i = 0; i < n; ++i) co_await coflux::yield();
    co_return n;
}
template <typename E>
coflux::fork<int, E> never_ends(coflux::environment&) {
    for (;;) co_await coflux::yield();
    co_return 0;
}
template <typename E>
coflux::task<std::size_t, E> takes_the_first(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (int i = 0; i < 20; ++i) {
        const auto first =
            co_await coflux::when_any(never_ends<E>(here), hops<second<E>>(here, i), never_ends<pool>(here));
        sum += first.index();
    }
    co_return sum;
}

TYPED_TEST(serial_programs, take_the_first_of_children_on_two_of_them) {
    this->run([](auto& env) { EXPECT_EQ(takes_the_first<typename TypeParam::type>(env).get(), 20U); });
}

struct account {
    coflux::mutex lock;
    int balance = 0;
};
template <typename E>
coflux::fork<void, E> pays_in(coflux::environment&, borrowed<account> a, int times) {
    for (int i = 0; i < times; ++i) {
        const auto held = co_await a->lock.lock();
        const int before = a->balance;
        if (i % 3 == 0) co_await coflux::yield();
        a->balance = before + 1;
    }
}
template <typename E>
coflux::task<int, E> shares_a_mutex(coflux::environment&) {
    auto&& here = co_await coflux::context();
    account a;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < 3; ++i) {
            scope.spawn(pays_in<E>, borrowed(a), 100);
            scope.spawn(pays_in<second<E>>, borrowed(a), 100);
            scope.spawn(pays_in<pool>, borrowed(a), 100);
        }
        co_return;
    });
    co_return a.balance;
}

TYPED_TEST(serial_programs, share_a_mutex_with_a_pool) {
    this->run([](auto& env) { EXPECT_EQ(shares_a_mutex<typename TypeParam::type>(env).get(), 900); });
}

// --- time ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<bool, E> naps(coflux::environment&, std::chrono::microseconds time) {
    const auto begin = coflux::clock::now();
    co_await coflux::sleep_for(time);
    co_return coflux::clock::now() - begin >= time;
}
template <typename E>
coflux::fork<void, E> sleeps_long(coflux::environment&) {
    co_await coflux::sleep_for(1h);
}
template <typename E>
coflux::task<int, E> many_nap(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<bool, E>> all;
    for (int i = 0; i < 200; ++i) all.push_back(naps<E>(here, std::chrono::microseconds(i * 10)));
    int late_enough = 0;
    for (const bool b : co_await coflux::when_all(std::move(all))) late_enough += b ? 1 : 0;
    co_return late_enough;
}

TYPED_TEST(serial_programs, sleep_in_many_coroutines) {
    this->run([](auto& env) { EXPECT_EQ(many_nap<typename TypeParam::type>(env).get(), 200); });
}

template <typename E>
coflux::task<int, E> gives_up(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int ends = 0;
    if (!co_await coflux::timeout(sleeps_long<second<E>>(here), 1ms)) ++ends;
    if (!co_await coflux::timeout(never_ends<E>(here), 1ms)) ++ends;
    if ((co_await coflux::timeout(naps<E>(here, 1us), 1h)).has_value()) ++ends;
    auto sub = coflux::make_environment(here, coflux::clock::now() + 1ms);
    const auto all = [](coflux::task_scope& scope) -> coflux::call<void> {
        co_await coflux::when_all(sleeps_long<E>(scope), sleeps_long<second<E>>(scope), sleeps_long<pool>(scope));
    };
    const auto outcome = co_await coflux::as_outcome(coflux::with_scope(sub, all));
    if (outcome.is_stopped()) ++ends;
    co_await sub.join();
    co_return ends;
}

TYPED_TEST(serial_programs, give_up_when_time_is_over) {
    this->run([](auto& env) { EXPECT_EQ(gives_up<typename TypeParam::type>(env).get(), 4); });
}

// --- stop and errors -------------------------------------------------------------------------------------------------

template <typename E>
coflux::task<void, E> waits_for_its_sleepers(coflux::environment&, borrowed<std::atomic<int>> begun) {
    auto&& here = co_await coflux::context();
    auto a = sleeps_long<second<E>>(here);
    auto b = never_ends<pool>(here);
    auto c = never_ends<E>(here);
    ++*begun;
    begun->notify_one();
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
}

TYPED_TEST(serial_programs, are_stopped_from_outside_with_all_their_children) {
    this->run([](auto& env) {
        for (int i = 0; i < 20; ++i) {
            std::atomic<int> begun{0};
            auto task = waits_for_its_sleepers<typename TypeParam::type>(env, borrowed(begun));
            if (i % 2 == 0) begun.wait(0);  // else it is queued, perhaps
            task.request_stop();
            EXPECT_THROW(task.get(), coflux::task_stopped);
        }
    });
}

template <typename E>
coflux::fork<int, E> fails(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("of a child");
}
template <typename E>
coflux::task<int, E> leaves_an_error(coflux::environment&) {
    auto&& here = co_await coflux::context();
    fails<second<E>>(here).attach();
    co_return 1;
}
template <typename E>
coflux::task<int, E> stops_the_rest(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::with_scope(here, [](coflux::task_scope& scope) -> coflux::call<int> {
        scope.spawn(never_ends<second<E>>);
        scope.spawn(never_ends<E>);
        scope.spawn(fails<pool>);
        co_return 1;
    });
}

TYPED_TEST(serial_programs, hear_of_the_errors_of_their_children) {
    this->run([](auto& env) {
        for (int i = 0; i < 20; ++i) {
            EXPECT_THROW((void)leaves_an_error<typename TypeParam::type>(env).get(), std::runtime_error);
            EXPECT_THROW((void)stops_the_rest<typename TypeParam::type>(env).get(), std::runtime_error);
        }
    });
}

// --- streams ---------------------------------------------------------------------------------------------------------

template <typename E>
coflux::async_generator<int> counts(coflux::environment&, int to) {
    auto&& here = co_await coflux::context();
    for (int i = 1; i <= to; ++i) {
        const int x = co_await hops<second<E>>(here, i % 3);
        co_yield i + x - i % 3;
    }
}
template <typename E>
coflux::task<int, E> reads(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto numbers = counts<E>(here, 100);
    int sum = 0;
    while (const int* const n = co_await numbers.next()) sum += *n;
    auto left = counts<E>(here, 100);  // half-way
    sum += *co_await left.next();
    co_return sum;
}

TYPED_TEST(serial_programs, read_what_a_generator_has_from_another) {
    this->run([](auto& env) { EXPECT_EQ(reads<typename TypeParam::type>(env).get(), 5051); });
}

using numbers = coflux::channel<int[2]>;

template <typename E>
coflux::fork<void, E> sends(coflux::environment&, coflux::channel_sender<numbers> out, int count) {
    for (int i = 0; i < count; ++i) {
        const bool sent = co_await out.send(1);
        EXPECT_TRUE(sent);
    }
}
template <typename E>
coflux::fork<int, E> receives(coflux::environment&, coflux::channel_receiver<numbers> in) {
    int sum = 0;
    while (const auto next = co_await in.receive()) sum += *next;
    co_return sum;
}
template <typename E>
coflux::task<int, E> trades(coflux::environment&) {
    auto&& here = co_await coflux::context();
    numbers n;
    co_return co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<int> {
        auto a = receives<E>(scope, n.receiver());
        auto b = receives<pool>(scope, n.receiver());
        scope.spawn(sends<E>, n.sender(), 300);
        scope.spawn(sends<second<E>>, n.sender(), 300);
        scope.spawn(sends<pool>, n.sender(), 300);
        const auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
        co_return x + y;
    });
}

TYPED_TEST(serial_programs, send_and_receive_on_all_sides) {
    this->run([](auto& env) { EXPECT_EQ(trades<typename TypeParam::type>(env).get(), 900); });
}

// --- many ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> adds(coflux::environment&, borrowed<int> sum) {
    ++*sum;  // not atomic: one at a time
    co_return;
}
template <typename E>
coflux::task<int, pool> forks_many(coflux::environment&, int count) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < count; ++i) scope.spawn(adds<E>, borrowed(sum));
        co_return;
    });
    co_return sum;
}

TYPED_TEST(serial_programs, run_ten_thousand_forks_of_a_pool) {
    this->run([](auto& env) { EXPECT_EQ(forks_many<typename TypeParam::type>(env, 10'000).get(), 10'000); });
}

struct waiters {
    coflux::manual_reset_event gate;
    int waiting = 0;
    int had_time = 0;
};
coflux::fork<void, coflux::worker_executor> is_one_of_many(auto&&, borrowed<waiters> all) {
    ++all->waiting;
    co_await all->gate.wait();
    if (coflux::detail::this_thread.queues->spend_tick()) ++all->had_time;
}

/// A step without a suspension, as a call of a socket is: it has its time also where more is queued than the ring of
/// the ready holds, and each is run without letting the next one run in its place.
TEST(serial_programs, spend_the_ticks_of_a_round_where_many_are_queued) {
    constexpr int many = 1000;
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    waiters all;
    [](auto&&, borrowed<waiters> w) -> coflux::task<void, coflux::worker_executor> {
        auto&& here = co_await coflux::context();
        for (int i = 0; i < many; ++i) is_one_of_many(here, w).attach();
        while (w->waiting != many) co_await coflux::yield();
        w->gate.set();
    }(env, borrowed(all))
                                           .join();
    // A round has 61 of them at full speed, and a few where each takes as long as a round. Without time for what is run
    // alone it is a quarter of all.
    constexpr int enough = coflux_test::at_full_speed ? many / 5 * 4 : many / 3;
    EXPECT_GE(all.had_time, enough) << "but for the last one of each round";
}

}  // namespace
