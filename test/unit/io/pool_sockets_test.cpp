// Sockets on a thread pool: its own workers wait for them.
#include <coflux/io/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/cpu_clock.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using clock_type = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> echoes(coflux::environment&, tcp_stream peer) {
    std::array<std::byte, 64> buffer{};
    int count = 0;
    while (const std::size_t n = co_await peer.read_some(buffer)) {
        co_await peer.write_all(std::span(buffer).first(n));
        ++count;
    }
    co_return count;
}
coflux::fork<void, pool> serves(coflux::environment&, tcp_listener* at, int connections) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < connections; ++i) echoes(here, co_await at->accept()).attach();
}
coflux::fork<int, pool> asks(coflux::environment&, endpoint where, int times) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string got(5, ' ');
    int right = 0;
    for (int i = 0; i < times; ++i) {
        co_await peer.write_all("hello");
        co_await peer.read_exactly(bytes_of(got));
        right += got == "hello" ? 1 : 0;
    }
    co_return right;
}
coflux::task<int, pool> talks(coflux::environment&, int connections, int times) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    auto server = serves(here, &listener, connections);
    std::vector<coflux::fork<int, pool>> clients;
    for (int i = 0; i < connections; ++i) clients.push_back(asks(here, listener.local_endpoint(), times));
    int right = 0;
    for (auto& c : clients) right += co_await std::move(c);
    co_await std::move(server);
    co_return right;
}

bool has_service_thread() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream name(entry.path() / "comm");
        std::string text;
        if (std::getline(name, text) && text == "coflux-io") return true;
    }
    return false;
}

TEST(pool_sockets, are_waited_for_by_the_workers_themselves) {
    for (const std::size_t threads : {1U, 2U, 4U}) {
        pool on(threads);
        auto env = coflux::make_environment(on);
        EXPECT_EQ(talks(env, 20, 50).get(), 1000) << threads;
        EXPECT_FALSE(has_service_thread());
    }
}

coflux::fork<void, pool> does_nothing(coflux::environment&) {
    co_return;
}
/// Never suspends: it runs its forks itself.
coflux::fork<void, pool> forks_on(coflux::environment&, std::atomic<bool>* ends) {
    auto&& here = co_await coflux::context();
    while (!ends->load()) co_await does_nothing(here);
}
coflux::fork<void, pool> answers(coflux::environment&, tcp_stream* peer) {
    std::string one(1, ' ');
    co_await peer->read_exactly(bytes_of(one));
    co_await peer->write_all(std::string_view(one));
}
/// How many of 20 answers came in time beside a coroutine that forks for ever: in the time of the only thread, which
/// does not pass while other programs have the processor.
coflux::task<int, pool> is_answered(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    int in_time = 0;
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> ends = false;
        auto far = answers(here, &p.far);
        auto other = forks_on(here, &ends);
        const auto sent = coflux_test::thread_cpu_time();
        std::string one = "x";
        co_await p.near.write_all(std::string_view(one));
        co_await p.near.read_exactly(bytes_of(one));
        in_time += coflux_test::thread_cpu_time() - sent < 20ms ? 1 : 0;
        ends = true;
        co_await std::move(far);
        co_await std::move(other);
    }
    co_return in_time;
}

/// The questions to two peers: one computes before its answer until the other one has answered.
struct questions {
    std::atomic<bool> computes{false};
    std::atomic<bool> answered{false};
    std::atomic<int> in_time{0};
};
/// Gives up after a time that only a hang takes.
coflux::fork<void, pool> handles_slowly(coflux::environment&, tcp_stream* peer, questions* q) {
    std::string one(1, ' ');
    for (;;) {
        co_await peer->read_exactly(bytes_of(one));
        q->computes = true;
        for (const auto end = clock_type::now() + 20s; !q->answered && clock_type::now() < end;) {}
        q->in_time += q->answered ? 1 : 0;
        co_await peer->write_all(std::string_view(one));
    }
}
coflux::fork<void, pool> handles_quickly(coflux::environment&, tcp_stream* peer) {
    std::string one(1, ' ');
    for (;;) {
        co_await peer->read_exactly(bytes_of(one));
        co_await peer->write_all(std::string_view(one));
    }
}
coflux::fork<void, coflux::worker_executor> asks_beside(coflux::environment&, tcp_stream* slow, tcp_stream* quick,
                                                        questions* q) {
    std::string one = "x";
    for (int i = 0; i < 10 && q->in_time == i; ++i) {
        q->computes = false;
        q->answered = false;
        co_await slow->write_all(std::string_view(one));
        while (!q->computes) co_await 1ms;
        co_await quick->write_all(std::string_view(one));
        co_await quick->read_exactly(bytes_of(one));
        q->answered = true;
        co_await slow->read_exactly(bytes_of(one));
        co_await 5ms;  // all workers sleep
    }
}
coflux::task<int, pool> asks_two(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = co_await connected(here);
    auto b = co_await connected(here);
    questions q;
    auto around = coflux::make_environment(here);
    auto slow = handles_slowly(around, &a.near, &q);
    auto quick = handles_quickly(around, &b.near);
    co_await asks_beside(here, &a.far, &b.far, &q);
    around.request_stop();
    (void)co_await coflux::as_outcome(std::move(slow));
    (void)co_await coflux::as_outcome(std::move(quick));
    co_await around.join();
    co_return q.in_time;
}

/// The worker that the event woke computes, and all others had been asleep without a limit: the guard steps in.
TEST(pool_sockets, are_looked_after_while_a_worker_computes) {
    pool on(2);
    coflux::worker_executor client;
    auto env = coflux::make_environment(on, client);
    EXPECT_EQ(asks_two(env).get(), 10);
}

/// Law 8: completed I/O has its turn beside a coroutine that goes on.
TEST(pool_sockets, have_their_turn_beside_a_coroutine_that_forks_for_ever) {
    pool on(1);
    auto env = coflux::make_environment(on);
    EXPECT_GE(is_answered(env).get(), 5);
}

coflux::task<void, pool> waits_for_nothing(coflux::environment&, tcp_stream* from) {
    std::array<std::byte, 1> one{};
    (void)co_await coflux::as_outcome(from->read_some(one));
}
coflux::task<coflux_test::stream_pair, pool> made(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await connected(here);
}

TEST(pool_sockets, cost_nothing_while_they_wait) {
    pool on(2);
    auto env = coflux::make_environment(on);
    auto p = made(env).get();
    auto waiter = waits_for_nothing(env, &p.near);
    EXPECT_TRUE(coflux_test::comes_to_rest(0.01, 300ms));
    env.request_stop();
    waiter.join();
}

TEST(pool_sockets_death, a_pool_does_not_end_under_a_coroutine_that_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coflux_test::stream_pair p;
            std::optional<pool> on(1);
            auto env = coflux::make_environment(*on);
            p = made(env).get();
            auto waiter = waits_for_nothing(env, &p.near);
            (void)made(env).get();  // behind the waiter, which waits then
            on.reset();
        },
        "waits for a descriptor");
}

}  // namespace
