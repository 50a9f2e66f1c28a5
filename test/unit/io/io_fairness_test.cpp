// Law 8 beside a socket: I/O has its turn beside a coroutine that forks and awaits for ever. Counted in forks, and not
// by the clock.
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using coflux::tcp_stream;

constexpr int wanted = 50;  // round trips
/// Each of its four operations may wait for a look, and no two looks are further apart than 150 us, in which no
/// processor makes 50 000 forks.
constexpr std::size_t enough = wanted * 4 * std::size_t{50'000};

struct course {
    int round_trips = 0;
    std::size_t forks = 0;  // made before the last of them had ended
};

template <typename E>
coflux::fork<void, E> does_nothing(coflux::environment&) {
    co_return;
}
/// Never suspends: it runs its forks itself.
template <typename E>
coflux::fork<void, E> forks_on(coflux::environment&, course* c) {
    auto&& here = co_await coflux::context();
    for (; c->round_trips < wanted && c->forks < enough; ++c->forks) co_await does_nothing<E>(here);
}
template <typename E>
coflux::fork<void, E> echoes(coflux::environment&, tcp_stream* peer) {
    std::string one(1, ' ');
    for (;;) {
        const std::size_t n = co_await peer->read_some(coflux_test::bytes_of(one));
        if (n == 0) break;
        co_await peer->write_all(std::string_view(one));
    }
}
template <typename E>
coflux::fork<void, E> asks(coflux::environment&, tcp_stream* peer, course* c) {
    std::string one(1, ' ');
    while (c->round_trips < wanted) {
        co_await peer->write_all("x");
        co_await peer->read_exactly(coflux_test::bytes_of(one));
        ++c->round_trips;
    }
    peer->shutdown_send();
}
template <typename E>
coflux::task<course, E> asks_beside_forks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    course c;
    auto far = echoes<E>(here, &p.far);
    auto near = asks<E>(here, &p.near, &c);
    auto other = forks_on<E>(here, &c);
    co_await std::move(other);
    const course until_then = c;
    co_await std::move(near);
    co_await std::move(far);
    co_return until_then;
}

void check(const course& c) {
    EXPECT_EQ(c.round_trips, wanted);
    EXPECT_LT(c.forks, enough);
    testing::Test::RecordProperty("forks_of_a_round_trip", static_cast<int>(c.forks / wanted));
}

TEST(io_fairness, has_a_round_trip_beside_a_coroutine_that_forks_for_ever_on_a_worker) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    check(asks_beside_forks<coflux::worker_executor>(env).get());
}
TEST(io_fairness, has_a_round_trip_beside_a_coroutine_that_forks_for_ever_on_a_shard) {
    coflux::shard_group shards({.shards = 1, .pin = false});
    auto env = coflux::make_environment(shards[0]);
    check(asks_beside_forks<coflux::shard>(env).get());
}
TEST(io_fairness, has_a_round_trip_beside_a_coroutine_that_forks_for_ever_on_a_run_loop) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    check(loop.run(asks_beside_forks<coflux::run_loop>(env)));
}
TEST(io_fairness, has_a_round_trip_beside_a_coroutine_that_forks_for_ever_on_a_pool) {
    coflux::thread_pool_executor pool{1};
    auto env = coflux::make_environment(pool);
    check(asks_beside_forks<coflux::thread_pool_executor>(env).get());
}

// --- operations that make no call, or have no time ------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> marks(coflux::environment&, coflux::borrowed<bool> mark) {
    co_await coflux::yield();
    *mark = true;
}
constexpr std::size_t give_up = 100'000;
/// Two rounds of 61 steps, of 32 awaits each.
constexpr std::size_t stated_bound = 2 * 61 * 32;

template <typename E, typename F>
coflux::call<std::size_t> count_beside(coflux::environment&, F once) {
    auto&& here = co_await coflux::context();
    bool served = false;
    auto other = marks<E>(here, coflux::borrowed(served));
    co_await coflux::yield();
    std::size_t done = 0;
    for (; !served && done < give_up; ++done) co_await once(here);
    co_await std::move(other);
    co_return done;
}
template <typename E>
coflux::task<void, E> does_nothing_to_sockets(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    const auto reads = [&](coflux::environment&) -> coflux::call<void> {
        EXPECT_EQ(co_await p.near.read_some(std::span<std::byte>()), 0U);
    };
    EXPECT_LE(co_await count_beside<E>(here, reads), stated_bound) << "reads of no bytes";
    std::string one(1, ' ');
    const auto polls = [&](coflux::environment&) -> coflux::call<void> {
        EXPECT_FALSE((co_await coflux::timeout(p.near.read_some(coflux_test::bytes_of(one)), std::chrono::seconds(0)))
                         .has_value());
    };
    EXPECT_LE(co_await count_beside<E>(here, polls), stated_bound) << "reads without time";
}

TEST(io_fairness, lets_others_run_beside_operations_that_make_no_call_or_have_no_time) {
    coflux::worker_executor worker;
    coflux::thread_pool_executor pool{1};
    auto env = coflux::make_environment(worker, pool);
    does_nothing_to_sockets<coflux::worker_executor>(env).get();
    does_nothing_to_sockets<coflux::thread_pool_executor>(env).get();
}

}  // namespace
