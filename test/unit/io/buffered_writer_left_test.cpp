// The bytes of a buffered_writer that dies with them: sent, dropped, or told of.
#include <coflux/io/buffered_writer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>
#include <coflux/testing/sim_network.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::buffered_writer;
using coflux::environment;
using coflux_test::as_bytes;
using coflux_test::as_text;
using coflux_test::bytes_of;
using coflux_test::connected;
using worker = coflux::worker_executor;

/// The check of a forgotten flush ends the process: what follows it is for the other builds.
#ifdef NDEBUG
constexpr bool goes_on = true;
#else
constexpr bool goes_on = false;
#endif

/// Takes `room` bytes without waiting, `piece` at a time, and then fails with `error`, if that is one.
struct ready_sink {
    std::size_t room = coflux_test::nowhere;
    std::size_t piece = coflux_test::nowhere;
    std::error_code error{};
    std::string got{};
    int tries = 0;
    int aborts = 0;

    coflux::call<std::size_t> write_some(environment&, std::span<const std::byte> from) {
        co_await coflux::sleep_for(1h);
        co_return from.size();
    }
    coflux::io_result<std::size_t> try_write_some(std::span<const std::byte> from) noexcept {
        ++tries;
        const std::size_t n = std::min({room, piece, from.size()});
        if (n == 0 && error) return error;
        got += as_text(from.first(n));
        room -= n;
        return n;
    }
    void abort() noexcept { ++aborts; }
};
using writer = buffered_writer<ready_sink>;

/// The errors that the handler of an environment was told.
struct told_error {
    std::atomic<int> count{0};
    std::error_code code{};
    std::string text{};
};
told_error told;
void tells(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& e) {
        told.code = e.code();
        told.text = e.what();
    } catch (...) {
        told.text = "another error";
    }
    ++told.count;
}
bool is_told(const char* text) {
    return told.text.find(text) != std::string::npos;
}

class buffered_writer_left : public testing::Test {
protected:
    void SetUp() override {
        told.count = 0;
        told.code = {};
        told.text = {};
    }
    /// A test that goes on behind the check asks this.
    static bool skips() { return !goes_on; }
};

// --- bytes that are dropped ------------------------------------------------------------------------------------------

coflux::call<void> throws_with_bytes(environment&, ready_sink& sink) {
    writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    throw std::runtime_error("another");
    co_return;
}
coflux::call<void> waits(environment&) {
    co_await 1h;
}
coflux::call<void> fails(environment&) {
    throw std::system_error(std::make_error_code(std::errc::connection_reset));
    co_return;
}
template <typename F>
coflux::call<void> calls_with_bytes(environment&, ready_sink& sink, F callee) {
    auto&& here = co_await coflux::context();
    writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    co_await callee(here);
}
coflux::fork<void, coflux::testing::sim_executor> calls_as_a_fork(environment&, ready_sink* sink) {
    auto&& here = co_await coflux::context();
    co_await calls_with_bytes(here, *sink, waits);
}
coflux::async_generator<int> gives_with_bytes(environment&, ready_sink* sink) {
    writer out(*sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    co_yield 1;
    co_await 1h;
}
coflux::call<void> reads_one_more(environment&, ready_sink* sink) {
    auto&& here = co_await coflux::context();
    auto all = gives_with_bytes(here, sink);
    EXPECT_NE(co_await all.next(), nullptr);
    (void)co_await all.next();
}
coflux::call<void> waits_beside_one(environment&, ready_sink* sink) {
    auto&& here = co_await coflux::context();
    auto all = gives_with_bytes(here, sink);
    EXPECT_NE(co_await all.next(), nullptr);
    co_await 1h;
}
/// A limit cuts the operation. With a limit of 0 its coroutine never begins.
coflux::call<void> is_cut(environment&, ready_sink& sink, int what, std::chrono::nanoseconds limit) {
    auto&& here = co_await coflux::context();
    writer out(sink, 5);
    EXPECT_EQ(out.write("12345"), 5U);
    bool ended = true;
    if (what == 0) ended = co_await coflux::timeout(out.flush(here), limit);
    if (what == 1) ended = co_await coflux::timeout(out.write_all(here, "6789"), limit);
    if (what == 2) ended = (co_await coflux::timeout(out.write_some(here, as_bytes("6")), limit)).has_value();
    EXPECT_FALSE(ended);
}
CO_TEST(buffered_writer_dropped, by_an_exception_a_stop_and_an_operation_that_was_cut_off) {
    auto&& here = co_await coflux::context();
    ready_sink sink;
    EXPECT_TRUE((co_await coflux::as_outcome(throws_with_bytes(here, sink))).has_error());
    EXPECT_TRUE((co_await coflux::as_outcome(calls_with_bytes(here, sink, fails))).has_error());
    EXPECT_FALSE(co_await coflux::timeout(calls_with_bytes(here, sink, waits), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(calls_as_a_fork(here, &sink), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(reads_one_more(here, &sink), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(waits_beside_one(here, &sink), 1ms));
    for (int what = 0; what != 3; ++what) {
        co_await is_cut(here, sink, what, 0ns);
        co_await is_cut(here, sink, what, 1ms);
    }
    {
        writer out(sink, 8);
        EXPECT_EQ(out.write("12345"), 5U);
        out.discard();
    }
    EXPECT_EQ(sink.tries, 0);
    EXPECT_EQ(sink.aborts, 0);
}

// --- bytes that are sent, and those that are not ---------------------------------------------------------------------

coflux::task<void, coflux::testing::manual_executor> leaves(environment&, ready_sink* sink) {
    auto&& here = co_await coflux::context();
    writer out(*sink, 8);
    co_await out.write_all(here, "12345");
}
void leave_to(ready_sink& sink) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    env.on_unobserved_error(&tells);
    on.run(leaves(env, &sink));
}
TEST_F(buffered_writer_left, is_sent_where_that_takes_no_wait) {
    if (skips()) GTEST_SKIP();
    for (std::size_t piece = 1; piece != 7; ++piece) {
        ready_sink sink{.piece = piece};
        leave_to(sink);
        EXPECT_EQ(sink.got, "12345");
        EXPECT_EQ(sink.aborts, 0);
    }
    EXPECT_EQ(told.count, 0);
}
TEST_F(buffered_writer_left, aborts_where_a_part_has_no_room_and_tells_the_environment) {
    if (skips()) GTEST_SKIP();
    for (std::size_t room = 0; room != 5; ++room) {
        ready_sink sink{.room = room, .piece = 2};
        leave_to(sink);
        EXPECT_EQ(sink.got, std::string("12345").substr(0, room));
        EXPECT_EQ(sink.aborts, 1);
        EXPECT_EQ(told.count, static_cast<int>(room + 1));
        EXPECT_TRUE(told.code == std::errc::operation_would_block);
        EXPECT_TRUE(is_told((std::to_string(5 - room) + " bytes that were not sent").c_str())) << told.text;
    }
    EXPECT_TRUE(is_told("coflux: a buffered_writer made at ")) << told.text;
    EXPECT_TRUE(is_told("buffered_writer_left_test.cpp:")) << told.text;
}
TEST_F(buffered_writer_left, tells_the_error_of_the_sink) {
    if (skips()) GTEST_SKIP();
    ready_sink sink{.room = 3, .error = std::make_error_code(std::errc::connection_reset)};
    leave_to(sink);
    EXPECT_EQ(sink.aborts, 1);
    EXPECT_EQ(told.count, 1);
    EXPECT_TRUE(told.code == std::errc::connection_reset);
}

coflux::call<void> leaves_in_a_call(environment&, coflux_test::memory_sink& sink) {
    auto&& here = co_await coflux::context();
    buffered_writer out(sink, 8);
    co_await out.write_all(here, "12345");
}
/// It awaits nothing, and does not ask where it runs.
coflux::call<void> leaves_without_an_await(environment&, coflux_test::memory_sink& sink) {
    buffered_writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    co_return;
}
coflux::task<void, coflux::testing::manual_executor> calls_what_awaits_nothing(environment&) {
    auto&& here = co_await coflux::context();
    coflux_test::memory_sink sink;
    co_await leaves_without_an_await(here, sink);
}
coflux::task<void, coflux::testing::manual_executor> leaves_in_an_environment_of_its_own(environment&) {
    auto&& here = co_await coflux::context();
    coflux_test::memory_sink sink;
    auto inner = coflux::make_environment(here);
    inner.on_unobserved_error(&tells);
    co_await leaves_in_a_call(inner, sink);
    EXPECT_EQ(sink.got, "");
}
TEST_F(buffered_writer_left, is_told_to_the_nearest_environment_also_of_a_sink_that_only_waits) {
    if (skips()) GTEST_SKIP();
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    on.run(leaves_in_an_environment_of_its_own(env));
    EXPECT_EQ(told.count, 1);
    EXPECT_TRUE(is_told("5 bytes that were not sent: its flush(here) was not awaited"));
    EXPECT_FALSE(is_told("temporarily")) << told.text;  // the sink was not asked
}

TEST_F(buffered_writer_left, is_told_to_the_environment_of_a_call_that_awaits_nothing) {
    if (skips()) GTEST_SKIP();
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    env.on_unobserved_error(&tells);
    on.run(calls_what_awaits_nothing(env));
    EXPECT_EQ(told.count, 1);
}

// --- over streams ----------------------------------------------------------------------------------------------------

/// More than a socket and its peer hold.
constexpr std::size_t too_much = std::size_t{16} << 20;

/// All that comes before the end or an error, which it gives.
template <typename Stream>
coflux::call<std::error_code> reads_to_the_end(environment&, Stream& from, std::string& into) {
    std::string part(64 * 1024, ' ');
    for (;;) {
        const auto n = co_await as_result(from.read_some(bytes_of(part)));
        if (!n) co_return n.error();
        if (*n == 0) co_return std::error_code();
        into.append(part, 0, *n);
    }
}
template <typename Stream>
coflux::call<void> forgets(environment&, Stream& to) {
    auto&& here = co_await coflux::context();
    buffered_writer out(to);
    co_await out.write_all(here, "answer");
}

template <typename Stream>
coflux::call<void> forgets_too_much(environment&, Stream& to) {
    auto&& here = co_await coflux::context();
    const std::string much(too_much, 'x');
    buffered_writer out(to, too_much);
    co_await out.write_all(here, much);
}

template <typename Near, typename Far>
coflux::call<void> is_sent_by(environment&, Near& near, Far& far) {
    auto&& here = co_await coflux::context();
    co_await forgets(here, near);
    near.close();
    std::string got;
    EXPECT_FALSE(co_await reads_to_the_end(here, far, got));
    EXPECT_EQ(got, "answer");
}
template <typename Near, typename Far>
coflux::call<void> is_cut_by(environment&, Near& near, Far& far, bool peer_sees_an_error) {
    auto&& here = co_await coflux::context();
    co_await forgets_too_much(here, near);
    EXPECT_TRUE(near.is_open());
    const auto later = co_await as_result(near.write_all("more"));
    EXPECT_EQ(later.error(), std::errc::broken_pipe);
    EXPECT_EQ(near.try_write_some(as_bytes("more")).error(), std::errc::broken_pipe);
    near.close();
    std::string got;
    const std::error_code how = co_await reads_to_the_end(here, far, got);
    if (peer_sees_an_error) {
        EXPECT_EQ(how, std::errc::connection_reset);
    } else {
        EXPECT_FALSE(how);
    }
    EXPECT_LT(got.size(), too_much);
}
coflux::task<void, worker> is_sent_by_each_stream(environment&) {
    auto&& here = co_await coflux::context();
    auto tcp = co_await connected(here);
    co_await is_sent_by(here, tcp.near, tcp.far);
    auto [near, far] = coflux::unix_stream::pair();
    co_await is_sent_by(here, near, far);
    auto pipe = coflux::make_pipe();
    co_await is_sent_by(here, pipe.writer, pipe.reader);
}
coflux::task<void, worker> is_cut_by_each_stream(environment&) {
    auto&& here = co_await coflux::context();
    auto tcp = co_await connected(here);
    co_await is_cut_by(here, tcp.near, tcp.far, true);
    auto [near, far] = coflux::unix_stream::pair();
    co_await is_cut_by(here, near, far, false);
    auto pipe = coflux::make_pipe();
    co_await is_cut_by(here, pipe.writer, pipe.reader, false);
    // A closed one, and one whose peer is gone.
    auto closed = co_await connected(here);
    {
        buffered_writer out(closed.near);
        EXPECT_EQ(out.write("answer"), 6U);
        closed.near.close();
    }
    EXPECT_TRUE(told.code == std::errc::bad_file_descriptor);
    auto cut = co_await connected(here);
    cut.far.reset();
    co_await cut.near.wait_readable();
    co_await forgets(here, cut.near);
    EXPECT_TRUE(told.code == std::errc::connection_reset || told.code == std::errc::broken_pipe);
}
template <typename F>
void on_a_worker_that_tells(const F& program) {
    worker on;
    auto env = coflux::make_environment(on);
    env.on_unobserved_error(&tells);
    program(env).get();
}
TEST_F(buffered_writer_left, is_sent_by_connections_and_pipes) {
    if (skips()) GTEST_SKIP();
    on_a_worker_that_tells(is_sent_by_each_stream);
    EXPECT_EQ(told.count, 0);
}
TEST_F(buffered_writer_left, cuts_connections_that_have_no_room) {
    if (skips()) GTEST_SKIP();
    on_a_worker_that_tells(is_cut_by_each_stream);
    EXPECT_EQ(told.count, 5);
}

coflux::task<void, worker> leaves_the_end_of_a_file(environment&) {
    auto&& here = co_await coflux::context();
    const std::string name = testing::TempDir() + "coflux_left_" + std::to_string(getpid());
    auto file = co_await coflux::file::open(name, {.write = true, .create = true});
    coflux::file_writer to(file);
    co_await forgets(here, to);
    co_await file.close();
    (void)std::remove(name.c_str());
}
TEST_F(buffered_writer_left, is_told_of_a_file_which_cannot_be_written_without_waiting) {
    if (skips()) GTEST_SKIP();
    on_a_worker_that_tells(leaves_the_end_of_a_file);
    EXPECT_EQ(told.count, 1);
}

// --- in a simulation: a peer sees all that a handler wrote, or an error ----------------------------------------------

enum class ending { returns, throws, stops };
coflux::call<void> answers(environment&, coflux::tcp_stream& peer, std::string_view answer, ending how) {
    auto&& here = co_await coflux::context();
    buffered_writer out(peer, 64);
    co_await out.write_all(here, answer);
    if (how == ending::throws) throw std::runtime_error("another");
    if (how == ending::stops) co_await coflux::this_coroutine::stop();
}
coflux::fork<void, coflux::testing::sim_executor> handles(environment&, coflux::tcp_stream peer, std::string answer,
                                                          ending how) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(answers(here, peer, answer, how));
    peer.close();  // a parameter dies when the result is taken
}
coflux::task<void, coflux::testing::sim_executor> is_whole_or_an_error(environment&, std::size_t size, ending how) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto accepted = co_await listener.accept();
    const std::string answer(size, 'a');
    auto handler = handles(here, std::move(accepted), answer, how);
    co_await coflux::sleep_for(1ms);  // the handler meets a socket that is full
    std::string got;
    const std::error_code error = co_await reads_to_the_end(here, near, got);
    co_await std::move(handler);
    if (how == ending::returns) {
        EXPECT_TRUE(error == std::errc::connection_reset || (!error && got == answer)) << got.size();
    } else {
        EXPECT_FALSE(error);
    }
    EXPECT_EQ(answer.substr(0, got.size()), got);
}
/// Simulated sockets hold 100 bytes.
int lost_in_simulations(std::size_t size, ending how) {
    told.count = 0;
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        coflux::testing::random_chooser decides(seed);
        coflux::testing::simulation sim(decides);
        const coflux::testing::sim_network net(sim, {.buffer = 100});
        coflux::testing::sim_executor on;
        auto env = coflux::make_environment(on);
        env.on_unobserved_error(&tells);
        is_whole_or_an_error(env, size, how).get();
        EXPECT_EQ(net.open_sockets(), 0U);
    }
    return told.count;
}
TEST_F(buffered_writer_left, of_a_handler_never_looks_whole_to_its_peer) {
    for (const std::size_t size : {1, 40, 63, 90, 120, 150}) {
        if (goes_on) {
            const int lost = lost_in_simulations(size, ending::returns);
            EXPECT_EQ(lost != 0, size > 100) << size;
        }
        EXPECT_EQ(lost_in_simulations(size, ending::throws), 0);
        EXPECT_EQ(lost_in_simulations(size, ending::stops), 0);
    }
}

}  // namespace
