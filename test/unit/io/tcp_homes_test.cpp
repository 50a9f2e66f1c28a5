// Streams whose operations wait on different threads, at the same time or one after the other.
#include <coflux/io/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/executors.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::open_descriptors;

template <typename E>
coflux::fork<std::string, E> reads(coflux::environment&, tcp_stream* from, std::size_t size) {
    std::string got(size, ' ');
    co_await from->read_exactly(bytes_of(got));
    co_return got;
}
template <typename E>
coflux::fork<void, E> writes(coflux::environment&, tcp_stream* to, std::string text) {
    co_await to->write_all(text);
}
template <typename E>
coflux::fork<void, E> drains(coflux::environment&, tcp_stream* from, std::size_t size) {
    std::vector<std::byte> buffer(50'000);
    while (size != 0) size -= co_await from->read_some(buffer);
}

using worker = coflux::worker_executor;
using shard = coflux::shard;
using pool = coflux::thread_pool_executor;

template <typename A, typename B>
coflux::task<void, pool> moves_between(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    for (int i = 0; i < 50; ++i) {
        auto on_a = reads<A>(here, &p.near, 2);
        co_await 100us;  // most often it waits by now
        co_await p.far.write_all("ab");
        EXPECT_EQ(co_await std::move(on_a), "ab");
        auto on_b = reads<B>(here, &p.near, 2);
        co_await p.far.write_all("c");
        co_await p.far.write_all("d");
        EXPECT_EQ(co_await std::move(on_b), "cd");
    }
}

TEST(tcp_homes, change_with_the_executor_of_the_operation) {
    worker one;
    coflux::shard_group shards{1};
    pool threads{1};
    auto env = coflux::make_environment(threads, one, shards[0]);
    moves_between<worker, shard>(env).get();
    moves_between<worker, pool>(env).get();
}

constexpr std::size_t much = 3'000'000;

/// Both directions are full of waits at the same time, on two executors.
template <typename Reader, typename Writer>
coflux::task<void, pool> in_both_directions(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto sent = writes<Writer>(here, &p.near, std::string(much, 'n'));
    auto got = reads<Reader>(here, &p.near, much);
    auto sent_back = writes<Reader>(here, &p.far, std::string(much, 'f'));
    co_await drains<Writer>(here, &p.far, much);
    EXPECT_EQ(co_await std::move(got), std::string(much, 'f'));
    co_await std::move(sent);
    co_await std::move(sent_back);
}

TEST(tcp_homes, are_two_where_reader_and_writer_are_on_two_executors) {
    worker one;
    coflux::shard_group shards{1};
    pool threads{1};
    auto env = coflux::make_environment(threads, one, shards[0]);
    const std::size_t before = open_descriptors();
    in_both_directions<worker, shard>(env).get();
    in_both_directions<shard, worker>(env).get();
    in_both_directions<pool, worker>(env).get();
    EXPECT_LE(open_descriptors(), before + 6);  // the two event sources and that of the process
}

/// The writer waits on `loop`, which is not run then.
coflux::fork<void, coflux::run_loop> waits_to_write(coflux::environment&, tcp_stream* to) {
    co_await to->write_all(std::string(much, 'x'));
}
coflux::task<coflux_test::stream_pair, worker> made(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await connected(here);
}
coflux::task<std::string, worker> reads_as_root(coflux::environment&, tcp_stream* from) {
    auto&& here = co_await coflux::context();
    co_return co_await reads<worker>(here, from, 2);
}
coflux::task<void, coflux::run_loop> writes_as_root(coflux::environment&, tcp_stream* to) {
    auto&& here = co_await coflux::context();
    co_await waits_to_write(here, to);
}
coflux::task<void, worker> drains_as_root(coflux::environment&, tcp_stream* from) {
    auto&& here = co_await coflux::context();
    co_await drains<worker>(here, from, much);
}
coflux::task<void, worker> writes_two(coflux::environment&, tcp_stream* to) {
    co_await to->write_all("ab");
}

TEST(tcp_homes, of_a_reader_do_not_depend_on_the_thread_of_the_writer) {
    worker on;
    coflux::run_loop loop;
    auto env = coflux::make_environment(on, loop);
    auto p = made(env).get();
    auto sent = writes_as_root(env, &p.near);
    loop.poll();  // the writer waits in the loop, which no thread runs
    auto got = reads_as_root(env, &p.near);
    writes_two(env, &p.far).get();
    EXPECT_EQ(got.get(), "ab");  // for ever, if it waited in the loop
    auto drained = drains_as_root(env, &p.far);
    loop.run(std::move(sent));
    drained.get();
}

// --- run_loop::descriptor() ------------------------------------------------------------------------------------------

bool is_readable_in(int descriptor, int milliseconds) {
    pollfd asked{descriptor, POLLIN, 0};
    return poll(&asked, 1, milliseconds) == 1;
}

coflux::task<int, coflux::run_loop> echoes_on_a_loop(coflux::environment&, endpoint to, int times) {
    tcp_stream peer = co_await tcp_stream::connect(to);
    int right = 0;
    for (int i = 0; i < times; ++i) {
        std::string got(3, ' ');
        co_await peer.write_all("abc");
        co_await peer.read_exactly(bytes_of(got));
        right += got == "abc" ? 1 : 0;
    }
    co_return right;
}
coflux::task<void, worker> gives_back(coflux::environment&, tcp_listener* at) {
    tcp_stream peer = co_await at->accept();
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}

TEST(run_loop_with_sockets, is_driven_by_its_descriptor_one_coroutine_at_a_time) {
    worker on;
    coflux::run_loop loop;
    auto env = coflux::make_environment(on, loop);
    tcp_listener listener(endpoint::loopback(0));
    auto server = gives_back(env, &listener);
    const int descriptor = loop.descriptor();
    // More in a row than a round has.
    auto client = echoes_on_a_loop(env, listener.local_endpoint(), 300);
    while (!client.done()) {
        ASSERT_TRUE(is_readable_in(descriptor, 10'000));
        (void)loop.poll_one();
    }
    EXPECT_EQ(client.get(), 300);
    server.get();
}

coflux::task<int, coflux::run_loop> reads_what_is_there(coflux::environment&, tcp_stream* from, int times) {
    std::byte one{};
    int n = 0;
    for (; n < times; ++n) (void)co_await from->read_some(std::span(&one, 1));
    co_return n;
}
coflux::task<void, worker> writes_many(coflux::environment&, tcp_stream* to, std::size_t size) {
    co_await to->write_all(std::string(size, 'x'));
}

TEST(run_loop_with_sockets, shows_by_its_descriptor_what_it_has_still_to_try) {
    worker on;
    coflux::run_loop loop;
    auto env = coflux::make_environment(on, loop);
    auto p = made(env).get();
    const int descriptor = loop.descriptor();
    writes_many(env, &p.far, 1000).get();
    auto reader = reads_what_is_there(env, &p.near, 1000);
    while (!reader.done()) {
        ASSERT_TRUE(is_readable_in(descriptor, 10'000));
        (void)loop.poll_one();
    }
    EXPECT_EQ(reader.get(), 1000);
    (void)loop.poll();
    EXPECT_FALSE(is_readable_in(descriptor, 0));
}

// --- executors that know nothing of sockets --------------------------------------------------------------------------

/// Those of a user, in ten lines.
using users = coflux_test::thread_executor;

template <typename E>
coflux::task<int, E> serves_itself(coflux::environment&, int clients) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    int right = 0;
    for (int i = 0; i < clients; ++i) {
        auto got = reads<E>(here, &p.near, 2);
        co_await p.far.write_all("ab");
        right += co_await std::move(got) == "ab" ? 1 : 0;
    }
    co_return right;
}

TEST(tcp_elsewhere, works_on_an_executor_of_a_user) {
    users executor;
    auto env = coflux::make_environment(executor);
    EXPECT_EQ(serves_itself<users>(env, 50).get(), 50);
}
TEST(tcp_elsewhere, works_without_an_executor) {
    auto env = coflux::make_environment();
    EXPECT_EQ(serves_itself<coflux::noop_executor>(env, 50).get(), 50);
}

/// A stream that always has bytes: it reads what it has written.
template <typename E>
coflux::fork<void, E> reads_for_ever(coflux::environment&, tcp_stream* a, tcp_stream* b, const bool* ends) {
    std::byte one{};
    while (!*ends) {
        co_await a->write_all(std::span<const std::byte>(&one, 1));
        (void)co_await b->read_some(std::span(&one, 1));
    }
}
template <typename E>
coflux::task<void, E> beside_a_busy_reader(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto busy = co_await connected(here);
    auto other = co_await connected(here);
    bool ends = false;
    auto never_waits = reads_for_ever<E>(here, &busy.near, &busy.far, &ends);
    auto got = reads<E>(here, &other.near, 2);
    co_await other.far.write_all("ab");
    EXPECT_EQ(co_await std::move(got), "ab");
    ends = true;
    co_await std::move(never_waits);
}

TEST(tcp_fairness, a_reader_that_never_waits_leaves_others_their_turn_on_a_worker) {
    worker on;
    auto env = coflux::make_environment(on);
    beside_a_busy_reader<worker>(env).get();
}
TEST(tcp_fairness, a_reader_that_never_waits_leaves_others_their_turn_on_an_executor_of_a_user) {
    users on;
    auto env = coflux::make_environment(on);
    beside_a_busy_reader<users>(env).get();
}
TEST(tcp_fairness, a_reader_that_never_waits_leaves_others_their_turn_on_one_thread_of_a_pool) {
    pool on{1};
    auto env = coflux::make_environment(on);
    beside_a_busy_reader<pool>(env).get();
}

coflux::task<void, coflux::noop_executor> for_ever_without_executor(coflux::environment&, tcp_stream* a, tcp_stream* b,
                                                                    const std::atomic<bool>* ends) {
    std::byte one{};
    while (!ends->load()) {
        co_await a->write_all(std::span<const std::byte>(&one, 1));
        (void)co_await b->read_some(std::span(&one, 1));
    }
}
coflux::task<std::string, pool> reads_on_a_pool(coflux::environment&, tcp_stream* from) {
    auto&& here = co_await coflux::context();
    co_return co_await reads<pool>(here, from, 2);
}

TEST(tcp_fairness, a_reader_without_an_executor_leaves_the_service_to_others) {
    pool on{1};
    auto env = coflux::make_environment(on);
    auto loose = coflux::make_environment();
    std::atomic<bool> ended{false};
    worker helper;
    auto env_of_helper = coflux::make_environment(helper);
    auto busy = made(env_of_helper).get();
    auto other = made(env_of_helper).get();
    auto never_waits = for_ever_without_executor(loose, &busy.near, &busy.far, &ended);
    auto got = reads_on_a_pool(env, &other.near);
    writes_two(env_of_helper, &other.far).get();
    EXPECT_EQ(got.get(), "ab");
    ended = true;
    never_waits.get();
}

}  // namespace
