// Streams of each kind: several buffers, writes without waiting, cuts, and halves.
#include <coflux/io/byte_stream.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::byte_reader;
using coflux::byte_stream;
using coflux::byte_writer;
using coflux::tcp_stream;
using coflux::unix_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

/// Event sources and alarms that executors may make at a later wait than the first.
constexpr std::size_t of_executors = 9;

// --- several buffers -------------------------------------------------------------------------------------------------

coflux::call<std::string> read_into(coflux::environment&, byte_reader* from, std::size_t size) {
    std::string got(size, ' ');
    co_await from->read_exactly(bytes_of(got));
    co_return got;
}

coflux::task<void, worker> uses_several_buffers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const std::string head = "head ";
    const std::string body = "body";
    const std::array parts{std::as_bytes(std::span(head)), std::span<const std::byte>(),
                           std::as_bytes(std::span(body))};
    co_await p.near.write_all(parts);
    EXPECT_EQ(co_await read_into(here, &p.far, 9), "head body");

    co_await p.far.write_all("abcdefg");
    std::string two(2, ' ');
    std::string ten(10, ' ');
    const std::array into{bytes_of(two), std::span<std::byte>(), bytes_of(ten)};
    EXPECT_EQ(co_await p.near.read_some(into), 7U);
    EXPECT_EQ(two + ten.substr(0, 5), "abcdefg");

    const std::array<std::span<std::byte>, 1> no_room{};
    EXPECT_EQ(co_await p.near.read_some(no_room), 0U);
    const std::array<std::span<const std::byte>, 1> nothing{};
    co_await p.near.write_all(nothing);
    co_await p.near.write_all(std::span<const std::span<const std::byte>>());
}
TEST(byte_stream_buffers, are_sent_and_filled_one_after_the_other) {
    on_a_worker(uses_several_buffers);
}

/// More than a socket holds, bit by bit: each call says how much of its buffers went.
coflux::fork<void, worker> sends_some_of_parts(coflux::environment&, byte_writer* to, const std::string* whole) {
    const std::size_t third = whole->size() / 3;
    for (std::size_t sent = 0; sent < whole->size();) {
        const std::string_view rest = std::string_view(*whole).substr(sent);
        const std::array parts{std::as_bytes(std::span(rest.substr(0, third))), std::span<const std::byte>(),
                               std::as_bytes(std::span(rest.substr(std::min(third, rest.size()))))};
        const std::size_t n = co_await to->write_some(parts);
        EXPECT_GT(n, 0U);
        sent += n;
    }
}
coflux::task<void, worker> writes_some_of_several_buffers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::string whole(6'000'000, ' ');
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>('a' + i % 23);
    auto tcp = co_await connected(here);
    auto sender = sends_some_of_parts(here, &tcp.near, &whole);
    EXPECT_TRUE(co_await read_into(here, &tcp.far, whole.size()) == whole);
    co_await std::move(sender);
    auto pipe = coflux::make_pipe();
    auto writer = sends_some_of_parts(here, &pipe.writer, &whole);
    EXPECT_TRUE(co_await read_into(here, &pipe.reader, whole.size()) == whole);
    co_await std::move(writer);

    const std::array<std::span<const std::byte>, 1> nothing{};
    EXPECT_EQ(co_await tcp.near.write_some(nothing), 0U);
    tcp.far.reset();
    const std::array one{std::as_bytes(std::span("x", 1))};
    coflux::io_result<std::size_t> last = co_await coflux::as_result(tcp.near.write_some(one));
    while (last) last = co_await coflux::as_result(tcp.near.write_some(one));
    EXPECT_TRUE(last.error() == std::errc::broken_pipe || last.error() == std::errc::connection_reset);
}
TEST(byte_stream_buffers, are_written_as_far_as_there_is_room) {
    on_a_worker(writes_some_of_several_buffers);
}

coflux::fork<void, worker> sends_parts(coflux::environment&, byte_writer* to, const std::vector<std::string>* parts) {
    std::vector<std::span<const std::byte>> all;
    for (const std::string& p : *parts) all.push_back(std::as_bytes(std::span(p)));
    co_await to->write_all(all);
}
/// More than a socket holds, in more buffers than a call takes, and with empty ones between.
coflux::task<void, worker> sends_many_buffers(coflux::environment&, std::size_t count, std::size_t longest) {
    auto&& here = co_await coflux::context();
    std::vector<std::string> parts;
    std::string whole;
    for (std::size_t i = 0; i < count; ++i) {
        parts.emplace_back(i * 7919 % longest, static_cast<char>('a' + i % 26));
        whole += parts.back();
    }
    auto tcp = co_await connected(here);
    auto sender = sends_parts(here, &tcp.near, &parts);
    EXPECT_TRUE(co_await read_into(here, &tcp.far, whole.size()) == whole);
    co_await std::move(sender);

    auto pipe = coflux::make_pipe();
    auto writer = sends_parts(here, &pipe.writer, &parts);
    EXPECT_TRUE(co_await read_into(here, &pipe.reader, whole.size()) == whole);
    co_await std::move(writer);
}
coflux::task<void, worker> sends_few_long_ones(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await sends_many_buffers(here, 5, 4'000'000);
}
coflux::task<void, worker> sends_many_short_ones(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await sends_many_buffers(here, 3000, 700);
}
TEST(byte_stream_buffers, may_be_longer_than_a_socket_holds) {
    on_a_worker(sends_few_long_ones);
}
TEST(byte_stream_buffers, may_be_more_than_one_call_takes) {
    on_a_worker(sends_many_short_ones);
}

coflux::task<void, worker> stops_several_buffers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string one(1, ' ');
    std::string two(2, ' ');
    const std::array into{bytes_of(one), bytes_of(two)};
    EXPECT_FALSE((co_await coflux::timeout(p.near.read_some(into), 2ms)).has_value());
    co_await p.far.write_all("abc");
    EXPECT_EQ(co_await p.near.read_some(into), 3U);
    EXPECT_EQ(one + two, "abc");

    const std::string much(5'000'000, 'x');
    const std::array parts{std::as_bytes(std::span(one)), std::as_bytes(std::span(much))};
    EXPECT_FALSE(co_await coflux::timeout(p.near.write_all(parts), 2ms));
    p.far.reset();
    const auto gone = co_await coflux::as_result(p.near.write_all(parts));
    EXPECT_TRUE(gone.error() == std::errc::broken_pipe || gone.error() == std::errc::connection_reset);
    auto cut = co_await coflux::as_result(p.near.read_some(into));
    EXPECT_TRUE(!cut.has_value() || *cut == 0);
}
TEST(byte_stream_buffers, lose_nothing_by_a_stop_of_a_read) {
    on_a_worker(stops_several_buffers);
}

// --- without waiting -------------------------------------------------------------------------------------------------

template <typename Writer, typename Reader>
coflux::call<void> tries(coflux::environment&, Writer& to, Reader& from) {
    EXPECT_EQ(*to.try_write_some(std::span<const std::byte>()), 0U);
    std::size_t sent = 0;
    const std::string some(100'000, 'x');
    for (;;) {
        const auto n = to.try_write_some(std::as_bytes(std::span(some)));
        EXPECT_TRUE(n.has_value());
        if (!n || *n == 0) break;
        sent += *n;
    }
    EXPECT_GT(sent, 0U);
    to.close();
    EXPECT_EQ(to.try_write_some(std::as_bytes(std::span(some))).error(), std::errc::bad_file_descriptor);
    std::string into(100'000, ' ');
    while (const std::size_t n = co_await from.read_some(bytes_of(into))) sent -= n;
    EXPECT_EQ(sent, 0U);
}
coflux::task<void, worker> tries_each_kind(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto tcp = co_await connected(here);
    co_await tries(here, tcp.near, tcp.far);
    auto [near, far] = coflux::unix_stream::pair();
    co_await tries(here, near, far);
    auto pipe = coflux::make_pipe();
    co_await tries(here, pipe.writer, pipe.reader);
    pipe = coflux::make_pipe();
    pipe.reader.close();
    EXPECT_EQ(pipe.writer.try_write_some(std::as_bytes(std::span("x", 1))).error(), std::errc::broken_pipe);
}
TEST(byte_stream_tries, takes_what_there_is_room_for) {
    on_a_worker(tries_each_kind);
}

using one_byte = std::array<std::byte, 1>;
template <typename E>
coflux::fork<std::error_code, E> reads_one(coflux::environment&, byte_reader* from) {
    one_byte into{};
    const auto n = co_await coflux::as_result(from->read_some(into));
    co_return n.error();
}
template <typename E>
coflux::fork<std::error_code, E> writes_much(coflux::environment&, byte_writer* to) {
    const std::string much(std::size_t{16} << 20, 'x');
    const auto n = co_await coflux::as_result(to->write_all(much));
    co_return n.error();
}
coflux::call<void> until_a_write_waits(coflux::environment&, byte_writer& to) {
    while (*to.try_write_some(std::as_bytes(std::span("x", 1))) != 0) co_await coflux::this_coroutine::yield();
}
coflux::task<void, worker> tries_beside_a_write(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = coflux::unix_stream::pair();
    auto writer = writes_much<worker>(here, &near);
    co_await until_a_write_waits(here, near);
    std::string into(100'000, ' ');
    EXPECT_GT(co_await far.read_some(bytes_of(into)), 0U);
    EXPECT_EQ(*near.try_write_some(std::as_bytes(std::span("x", 1))), 0U);  // there is room
    near.abort();
    EXPECT_EQ(co_await std::move(writer), std::errc::broken_pipe);
}
TEST(byte_stream_tries, takes_nothing_beside_a_write_that_waits) {
    on_a_worker(tries_beside_a_write);
}

/// A reader and a writer of one connection wait, and a third coroutine aborts it.
template <typename E>
coflux::task<void, E> aborts_what_waits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto far = co_await listener.accept();
    auto reader = reads_one<E>(here, &near);
    auto writer = writes_much<E>(here, &near);
    co_await until_a_write_waits(here, near);
    near.abort();
    const std::error_code read = co_await std::move(reader);
    const std::error_code written = co_await std::move(writer);
    // The first of them is told of the cut.
    EXPECT_TRUE(written == std::errc::broken_pipe || written == std::errc::connection_reset) << written;
    EXPECT_TRUE(!read || read == std::errc::not_connected || read == std::errc::connection_reset) << read;
    EXPECT_TRUE(near.is_open());
    const auto again = co_await coflux::as_result(near.write_some("x"));
    EXPECT_EQ(again.error(), std::errc::broken_pipe);
    std::array<std::byte, 10'000> into{};
    coflux::io_result<std::size_t> n = co_await coflux::as_result(far.read_some(into));
    while (n && *n != 0) n = co_await coflux::as_result(far.read_some(into));
    EXPECT_EQ(n.error(), std::errc::connection_reset);
    near.abort();
    near.close();
    near.abort();
}
TEST(byte_stream_abort, ends_what_waits_and_tells_the_peer) {
    on_a_worker(aborts_what_waits<worker>);
}
TEST(byte_stream_abort, is_the_same_on_a_simulated_network) {
    coflux_test::in_simulations(aborts_what_waits<coflux::testing::sim_executor>);
}

// --- halves ----------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<std::size_t, E> drains(coflux::environment&, byte_reader from) {
    std::vector<std::byte> buffer(50'000);
    std::size_t all = 0;
    while (const std::size_t n = co_await from.read_some(buffer)) all += n;
    co_return all;
}
template <typename E>
coflux::fork<void, E> fills(coflux::environment&, byte_writer to, std::size_t size) {
    const std::string much(size, 'x');
    co_await to.write_all(much);
    to.close();  // a parameter dies when the result is taken
}

constexpr std::size_t much = 3'000'000;

template <typename A, typename B>
coflux::task<void, pool> talks_in_halves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto near = std::move(p.near).split();
    auto far = std::move(p.far).split();
    EXPECT_FALSE(p.near.is_open());
    auto got = drains<A>(here, std::move(near.reader));
    auto got_back = drains<B>(here, std::move(far.reader));
    auto sent = fills<B>(here, std::move(near.writer), much);
    auto sent_back = fills<A>(here, std::move(far.writer), much + 1);
    EXPECT_EQ(co_await std::move(got), much + 1);
    EXPECT_EQ(co_await std::move(got_back), much);
    co_await std::move(sent);
    co_await std::move(sent_back);
}
TEST(byte_stream_halves, live_on_two_executors_and_close_the_connection_with_the_second) {
    worker one;
    coflux::shard_group shards{1};
    pool threads{2};
    auto env = coflux::make_environment(threads, one, shards[0]);
    talks_in_halves<worker, coflux::shard>(env).get();
    talks_in_halves<pool, worker>(env).get();
    talks_in_halves<pool, pool>(env).get();
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 10; ++i) {
        talks_in_halves<worker, coflux::shard>(env).get();
        talks_in_halves<pool, pool>(env).get();
    }
    EXPECT_LE(open_descriptors(), before + of_executors);
}

template <typename E>
coflux::fork<void, E> closes_reader(coflux::environment&, byte_reader* half) {
    half->close();
    co_return;
}
template <typename E>
coflux::fork<void, E> closes_writer(coflux::environment&, byte_writer* half) {
    half->close();
    co_return;
}
coflux::task<void, pool> closes_both_at_once(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < times; ++i) {
        auto p = unix_stream::pair();
        auto near = std::move(p.first).split();
        auto one = closes_reader<worker>(here, &near.reader);
        auto two = closes_writer<pool>(here, &near.writer);
        std::byte end{};
        EXPECT_EQ(co_await p.second.read_some(std::span(&end, 1)), 0U);
        co_await std::move(one);
        co_await std::move(two);
    }
}
TEST(byte_stream_halves, may_end_on_two_threads_at_the_same_time) {
    worker one;
    pool threads{1};
    auto env = coflux::make_environment(threads, one);
    closes_both_at_once(env, 1).get();
    const std::size_t before = open_descriptors();
    closes_both_at_once(env, 500).get();
    EXPECT_LE(open_descriptors(), before + of_executors);
}

template <typename Pair>
coflux::call<void> ends_the_writer(coflux::environment& here, Pair* p) {
    auto near = std::move(p->first).split();
    co_await near.writer.write_all("bye");
    near.writer.close();
    EXPECT_FALSE(near.writer.is_open());
    EXPECT_EQ(near.writer.native_handle(), -1);
    EXPECT_EQ(co_await read_into(here, &p->second, 3), "bye");
    std::byte one{};
    EXPECT_EQ(co_await p->second.read_some(std::span(&one, 1)), 0U);
    co_await p->second.write_all("still");
    EXPECT_EQ(co_await read_into(here, &near.reader, 5), "still");
}
coflux::task<void, worker> ends_writers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto tcp = co_await connected(here);
    auto pair = std::pair(std::move(tcp.near), std::move(tcp.far));
    co_await ends_the_writer(here, &pair);
    auto local = unix_stream::pair();
    co_await ends_the_writer(here, &local);
}
TEST(byte_stream_halves, tell_the_peer_when_the_writer_ends_and_read_on) {
    on_a_worker(ends_writers);
}

coflux::task<void, worker> ends_the_reader(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::size_t before = open_descriptors();
    {
        auto p = unix_stream::pair();
        auto near = std::move(p.first).split();
        near.reader.close();
        co_await near.writer.write_all("on");
        EXPECT_EQ(co_await read_into(here, &p.second, 2), "on");
        co_await p.second.write_all("unread");
        { const byte_writer dies = std::move(near.writer); }
        std::byte one{};
        auto end = co_await coflux::as_result(p.second.read_some(std::span(&one, 1)));
        EXPECT_TRUE(!end.has_value() || *end == 0);
    }
    EXPECT_LE(open_descriptors(), before);
}
TEST(byte_stream_halves, write_on_when_the_reader_ends) {
    on_a_worker(ends_the_reader);
}

coflux::fork<std::string, worker> waits_for_two(coflux::environment&, byte_reader* from) {
    auto&& here = co_await coflux::context();
    co_return co_await read_into(here, from, 2);
}
coflux::task<void, worker> moves_halves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto near = std::move(p.near).split();
    auto waits = waits_for_two(here, &near.reader);
    co_await coflux::this_coroutine::yield();
    byte_reader reader = std::move(near.reader);  // the operation stays with the connection
    near.writer = byte_writer();                  // and the other half ends
    co_await p.far.write_all("ab");
    EXPECT_EQ(co_await std::move(waits), "ab");
    auto q = co_await connected(here);
    reader = std::move(std::move(q.near).split().reader);
    std::byte one{};
    EXPECT_EQ(co_await p.far.read_some(std::span(&one, 1)), 0U);  // assigned over: closed
}
TEST(byte_stream_halves, are_moved_with_what_waits) {
    on_a_worker(moves_halves);
}

coflux::task<void, worker> assigns_streams(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto q = co_await connected(here);
    const std::size_t before = open_descriptors();
    p.near = std::move(q.near);
    EXPECT_LE(open_descriptors(), before - 1);
    std::byte one{};
    EXPECT_EQ(co_await p.far.read_some(std::span(&one, 1)), 0U);
    co_await p.near.write_all("x");
    EXPECT_EQ(co_await q.far.read_some(std::span(&one, 1)), 1U);
    p.near.close();
    p.near.close();
    EXPECT_FALSE(p.near.is_open());
    EXPECT_LE(open_descriptors(), before - 2);
}
TEST(byte_stream, closes_what_it_had_where_it_is_assigned_to) {
    on_a_worker(assigns_streams);
}

class byte_stream_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
coflux::task<void, worker> destroys_a_half(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto near = std::move(p.near).split();
    auto waits = waits_for_two(here, &near.reader);
    co_await 1ms;
    { const byte_writer not_waited_for = std::move(near.writer); }
    { const byte_reader dies = std::move(near.reader); }
    co_await std::move(waits);
}
TEST_F(byte_stream_death, a_half_that_dies_while_an_operation_waits_is_refused) {
    EXPECT_DEATH(on_a_worker(destroys_a_half),
                 "a socket, pipe or process dies while an operation of it waits .its peer, or its own name: 127");
}
coflux::task<void, worker> uses_a_stream_that_was_split(coflux::environment&) {
    auto p = unix_stream::pair();
    const auto halves = std::move(p.first).split();
    std::byte one{};
    (void)co_await p.first.read_some(std::span(&one, 1));
}
TEST_F(byte_stream_death, a_stream_that_was_split_is_closed) {
    EXPECT_DEATH(on_a_worker(uses_a_stream_that_was_split),
                 "an operation of a socket, pipe or process that is closed, was moved from");
}

}  // namespace
