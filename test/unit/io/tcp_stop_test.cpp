// How a stop ends each operation, before it waits, while it waits, and beside the event that ends it.
#include <coflux/io/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::open_descriptors;
using simulated = coflux::testing::sim_executor;

enum class what { read_some, read_exactly, write_all, accept, connect, wait_readable };
constexpr std::array all_operations{what::read_some, what::read_exactly, what::write_all,
                                    what::accept,    what::connect,      what::wait_readable};

/// Where none of the operations would end.
struct place {
    tcp_stream near;
    tcp_stream far;
    tcp_listener listener{coflux_test::own_loopback()};
    tcp_listener full{coflux_test::own_loopback(), {.backlog = 0}};
    tcp_stream in_the_backlog;
    tcp_stream got;
    std::size_t count = 0;
};
constexpr std::size_t much = 8'000'000;

template <typename E>
coflux::fork<void, E> does(coflux::environment&, what w, place* at) {
    std::array<std::byte, 2> two{};
    switch (w) {
    case what::read_some: at->count = co_await at->near.read_some(std::span(two).first(1)); break;
    case what::read_exactly:
        co_await at->near.read_exactly(two);
        at->count = 2;
        break;
    case what::write_all: {
        const std::string text(much, 'x');
        co_await at->near.write_all(text);
        at->count = much;
        break;
    }
    case what::accept: at->got = co_await at->listener.accept(); break;
    case what::connect: at->got = co_await tcp_stream::connect(at->full.local_endpoint()); break;
    case what::wait_readable: co_await at->near.wait_readable(); break;
    }
}

template <typename E>
coflux::task<int, E> stops_each(coflux::environment&, bool before) {
    auto&& here = co_await coflux::context();
    int stopped = 0;
    for (const what w : all_operations) {
        place at;
        auto pair = co_await connected(here);
        at.near = std::move(pair.near);
        at.far = std::move(pair.far);
        // From now on a connect to it waits.
        if (w == what::connect) at.in_the_backlog = co_await tcp_stream::connect(at.full.local_endpoint());
        auto inside = coflux::make_environment(here);
        if (before) inside.request_stop();
        auto operation = does<E>(inside, w, &at);
        if (!before) {
            co_await 5ms;  // it has come to its wait, or is on its way
            inside.request_stop();
        }
        const auto end = co_await coflux::as_outcome(std::move(operation));
        stopped += end.is_stopped() ? 1 : 0;
        co_await inside.join();

        // The connection is then as it would have been.
        co_await at.far.write_all("ab");
        std::string two(2, ' ');
        co_await at.near.read_exactly(bytes_of(two));
        EXPECT_EQ(two, "ab");
        const tcp_stream client = co_await tcp_stream::connect(at.listener.local_endpoint());
        const tcp_stream server = co_await at.listener.accept();
        EXPECT_EQ(server.peer_endpoint(), client.local_endpoint());
    }
    co_return stopped;
}

template <typename E>
void stops_each_on(E& executor, bool before) {
    auto env = coflux::make_environment(executor);
    EXPECT_EQ(stops_each<E>(env, before).get(), static_cast<int>(all_operations.size()));
}

TEST(tcp_stop, ends_each_operation_that_waits_on_a_worker) {
    coflux::worker_executor worker;
    stops_each_on(worker, false);
}
TEST(tcp_stop, ends_each_operation_that_waits_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    stops_each_on(pool, false);
}
TEST(tcp_stop, of_before_lets_no_operation_wait_on_a_worker) {
    coflux::worker_executor worker;
    stops_each_on(worker, true);
}
TEST(tcp_stop, of_before_lets_no_operation_wait_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    stops_each_on(pool, true);
}
TEST(tcp_stop, ends_each_operation_in_a_simulation_too) {
    for (const bool before : {false, true})
        coflux_test::in_simulations([&](coflux::environment& env) { return stops_each<simulated>(env, before); },
                                    static_cast<int>(all_operations.size()));
}

/// Makes it end.
template <typename E>
coflux::fork<void, E> ends(coflux::environment&, what w, place* at) {
    switch (w) {
    case what::read_some:
    case what::wait_readable: co_await at->far.write_all("a"); break;
    case what::read_exactly:
        // In two parts: it is tried in vain, and waits again.
        co_await at->far.write_all("a");
        co_await coflux::this_coroutine::yield();
        co_await at->far.write_all("b");
        break;
    case what::write_all: {
        std::vector<std::byte> buffer(100'000);
        for (int i = 0; i < 20; ++i) (void)co_await at->far.read_some(buffer);
        break;
    }
    case what::accept: at->far = co_await tcp_stream::connect(at->listener.local_endpoint()); break;
    case what::connect: break;  // the system does
    }
}
template <typename E>
coflux::fork<void, E> requests_stop(coflux::environment&, coflux::environment* of) {
    of->request_stop();
    co_return;
}

template <typename E>
coflux::task<void, E> races(coflux::environment&, what w, int times) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < times; ++i) {
        place at;
        auto pair = co_await connected(here);
        at.near = std::move(pair.near);
        at.far = std::move(pair.far);
        auto inside = coflux::make_environment(here);
        auto operation = does<E>(inside, w, &at);
        for (int y = 0; y < i % 4; ++y) co_await coflux::this_coroutine::yield();
        auto end = ends<E>(here, w, &at);
        for (int y = 0; y < i % 3; ++y) co_await coflux::this_coroutine::yield();
        auto stop = requests_stop<E>(here, &inside);
        const auto how = co_await coflux::as_outcome(std::move(operation));
        if (w == what::write_all) at.near.shutdown_send();  // its reader may wait for more
        co_await std::move(stop);
        co_await std::move(end);
        co_await inside.join();
        EXPECT_FALSE(how.has_error());
        switch (w) {
        case what::read_some:
        case what::wait_readable: {
            const std::size_t left = 1 - at.count;
            EXPECT_TRUE(how.is_stopped() || w == what::wait_readable || left == 0);
            std::string byte(left, ' ');
            co_await at.near.read_exactly(bytes_of(byte));
            break;
        }
        case what::accept:
            if (how.is_stopped()) at.got = co_await at.listener.accept();
            EXPECT_EQ(at.got.peer_endpoint(), at.far.local_endpoint());
            break;
        default: break;
        }
    }
}

template <typename E>
void races_on(E& executor, int times) {
    auto env = coflux::make_environment(executor);
    races<E>(env, what::read_some, 4).get();  // the event source is there
    const std::size_t before = open_descriptors();
    for (const what w : all_operations) races<E>(env, w, w == what::write_all ? times / 10 : times).get();
    EXPECT_LE(open_descriptors(), before);
}

TEST(tcp_stop, beside_the_event_loses_nothing_on_a_worker) {
    coflux::worker_executor worker;
    races_on(worker, 200);
}
TEST(tcp_stop, beside_the_event_loses_nothing_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    races_on(pool, 200);
}
TEST(tcp_stop, beside_the_event_loses_nothing_in_a_simulation) {
    for (const what w : all_operations)
        coflux_test::in_simulations([&](coflux::environment& env) { return races<simulated>(env, w, 12); });
}

coflux::call<void> reads_much(coflux::environment&, tcp_stream* from) {
    std::vector<std::byte> big(200'000);
    co_await from->read_exactly(big);
}
template <typename E>
coflux::fork<void, E> drips(coflux::environment&, tcp_stream* to) {
    for (;;) co_await to->write_all("drop");
}
/// The stops often come while another thread tries the read: it takes them over, and withdraws the operation, whose
/// frame is gone when the next one is published in the same record.
template <typename E>
coflux::task<int, E> stops_what_is_being_tried(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto around = coflux::make_environment(here);
    auto sender = drips<E>(around, &p.far);
    int stopped = 0;
    for (int i = 0; i < times; ++i) {
        auto inside = coflux::make_environment(here);
        auto stop = requests_stop<E>(here, &inside);
        const auto end = co_await coflux::as_outcome(reads_much(inside, &p.near));
        stopped += end.is_stopped() ? 1 : 0;
        co_await std::move(stop);
        co_await inside.join();
    }
    around.request_stop();
    (void)co_await coflux::as_outcome(std::move(sender));
    co_await around.join();
    co_return stopped;
}
TEST(tcp_stop, is_taken_over_by_the_thread_that_tries) {
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool);
    EXPECT_GT(stops_what_is_being_tried<coflux::thread_pool_executor>(env, 2000).get(), 1000);  // others had all
}

// --- combinators -----------------------------------------------------------------------------------------------------

coflux::task<void, coflux::worker_executor> combines(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = co_await connected(here);
    auto b = co_await connected(here);
    std::array<std::byte, 4> one{};
    std::array<std::byte, 4> two{};

    EXPECT_FALSE((co_await coflux::timeout(a.near.read_some(one), 5ms)).has_value());
    EXPECT_FALSE(
        (co_await coflux::deadline(a.near.read_some(one), std::chrono::steady_clock::now() + 5ms)).has_value());
    co_await b.far.write_all("b");
    const auto first = co_await coflux::when_any(a.near.read_some(one), b.near.read_some(two));
    EXPECT_EQ(first.index(), 1U);
    co_await a.far.write_all("aa");
    const auto kept = co_await coflux::as_outcome(a.near.read_some(one));
    EXPECT_EQ(kept.value(), 2U);  // the loser took none

    co_await b.far.write_all("b");
    auto chosen = co_await coflux::select(a.near.read_some(one), b.near.read_some(two));
    EXPECT_EQ(chosen.index(), 1U);
    const auto as_value = co_await coflux::timeout(coflux::as_result(a.near.read_some(one)), 5ms);
    EXPECT_TRUE(as_value.timed_out());
    EXPECT_FALSE(co_await coflux::timeout(a.near.wait_readable(), 5ms));
}

TEST(tcp_combined, takes_part_in_limits_and_in_choices) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    combines(env).get();
}

}  // namespace
