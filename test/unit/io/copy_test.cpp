#include <coflux/io/copy.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::as_text;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::in_few_schedules;
using coflux_test::memory_sink;
using coflux_test::memory_source;
using coflux_test::memory_whole_sink;

const std::string text = "all the bytes of one stream to another";

coflux::task<void, coflux::testing::sim_executor>
sends_all_bytes_to_the_end_however_few_each_side_moves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t in = 1; in != 9; ++in) {
        for (std::size_t out = 1; out != 9; ++out) {
            memory_source source{.text = text, .piece = in};
            memory_sink sink{.piece = out};
            const std::uint64_t n = co_await coflux::copy(here, source, sink, {.buffer_size = 6});
            CO_ASSERT_EQ(n, text.size());
            CO_ASSERT_EQ(sink.got, text);
        }
    }
    memory_source empty{.text = ""};
    memory_sink sink;
    const std::uint64_t n = co_await coflux::copy(here, empty, sink);
    EXPECT_EQ(n, 0U);
    EXPECT_EQ(sink.writes, 0U);
}
TEST(copy, sends_all_bytes_to_the_end_however_few_each_side_moves) {
    in_few_schedules(&sends_all_bytes_to_the_end_however_few_each_side_moves);
}

coflux::task<void, coflux::testing::sim_executor> tells_what_a_stop_has_lost(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (auto after = 500us; after < 60ms; after += 1ms) {
        memory_source source{.text = text, .piece = 5, .pause = 1ms};
        memory_sink sink{.piece = 2, .pause = 1ms};
        coflux::copy_count count;
        const auto all = co_await coflux::timeout(coflux::copy(here, source, sink, {.count = &count}), after);
        EXPECT_EQ(count.read, source.at);
        EXPECT_EQ(count.written, sink.got.size());
        EXPECT_EQ(sink.got, text.substr(0, sink.got.size()));
        EXPECT_EQ(all.has_value(), after > 32ms) << after.count();
        EXPECT_LE(count.read - count.written, 5U);
    }
}
TEST(copy, tells_what_a_stop_has_lost) {
    in_few_schedules(&tells_what_a_stop_has_lost);
}

coflux::task<void, coflux::testing::sim_executor>
from_a_buffered_reader_goes_on_where_it_was_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const auto limit : {500us, 1500us, 2500us}) {
        memory_source source{.text = "head\n" + text, .piece = 9, .pause = 1ms};
        memory_sink sink{.piece = 2, .pause = 1ms};
        coflux::buffered_reader in(source, 12);
        const auto head = co_await in.read_line(here);
        EXPECT_EQ(head, "head");
        std::uint64_t written = 0;
        for (int turn = 0;; ++turn) {
            coflux::copy_count count;
            const auto all = co_await coflux::timeout(coflux::copy(here, in, sink, {.count = &count}),
                                                      turn % 2 == 0 ? limit : limit + 1ms);
            written += count.written;
            EXPECT_EQ(sink.got + as_text(in.buffered()) + source.text.substr(source.at), text);
            if (all.has_value()) break;
        }
        EXPECT_EQ(sink.got, text);
        EXPECT_EQ(written, text.size());
    }
}
TEST(copy, from_a_buffered_reader_goes_on_where_it_was_stopped) {
    in_few_schedules(&from_a_buffered_reader_goes_on_where_it_was_stopped);
}

coflux::task<void, coflux::testing::sim_executor>
to_a_whole_sink_sends_no_byte_twice_and_tells_what_a_stop_may_have_lost(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (auto after = 500us; after < 60ms; after += 1ms) {
        memory_source source{.text = text, .piece = 5, .pause = 1ms};
        memory_whole_sink sink{.piece = 2, .pause = 1ms};
        coflux::copy_count count;
        const auto all = co_await coflux::timeout(coflux::copy(here, source, sink, {.count = &count}), after);
        EXPECT_EQ(count.read, source.at);
        EXPECT_LE(count.written, sink.got.size());
        EXPECT_LE(sink.got.size(), count.read);
        EXPECT_EQ(sink.got, text.substr(0, sink.got.size()));
        EXPECT_EQ(all.has_value(), after > 32ms) << after.count();
        EXPECT_TRUE(!all.has_value() || sink.got == text) << sink.got;
    }
    for (auto after = 500us; after < 60ms; after += 1ms) {
        memory_source source{.text = text, .piece = 9, .pause = 1ms};
        memory_whole_sink sink{.piece = 2, .pause = 1ms};
        coflux::buffered_reader in(source, 12);
        coflux::copy_count count;
        const auto all = co_await coflux::timeout(coflux::copy(here, in, sink, {.count = &count}), after);
        EXPECT_EQ(count.read + in.buffered().size(), source.at);
        const auto before = sink.got.size();
        EXPECT_LE(count.written, before);
        EXPECT_LE(before, count.read);
        EXPECT_EQ(sink.got, text.substr(0, before));
        if (all.has_value()) {
            EXPECT_EQ(sink.got, text);
            break;
        }
        // Goes on behind what was being written.
        (void)co_await coflux::copy(here, in, sink);
        EXPECT_EQ(sink.got, text.substr(0, before) + text.substr(count.read));
    }
}
TEST(copy, to_a_whole_sink_sends_no_byte_twice_and_tells_what_a_stop_may_have_lost) {
    in_few_schedules(&to_a_whole_sink_sends_no_byte_twice_and_tells_what_a_stop_may_have_lost);
}

CO_TEST(copy, to_a_whole_sink_that_fails_has_written_at_least_what_it_tells) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text, .piece = 8};
    memory_whole_sink sink{.piece = 3, .fails_at = 20};
    coflux::copy_count count;
    const auto end = co_await coflux::as_outcome(coflux::copy(here, source, sink, {.count = &count}));
    EXPECT_TRUE(end.has_error());
    EXPECT_EQ(count.read, 24U);
    EXPECT_EQ(count.written, 16U);
    EXPECT_EQ(sink.got, text.substr(0, 20));
}

CO_TEST(copy, has_copied_nothing_where_a_stop_comes_before_the_call_has_begun) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text};
    memory_sink sink;
    coflux::copy_count count{1, 2};
    EXPECT_FALSE((co_await coflux::timeout(coflux::copy(here, source, sink, {.count = &count}), 0ns)).has_value());
    EXPECT_EQ(count.read + count.written, 0U);
}

CO_TEST(copy, passes_errors_on_and_tells_how_far_it_came) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text, .piece = 5, .fails_at = 20};
    memory_sink sink;
    coflux::copy_count count;
    const auto end = co_await coflux::as_outcome(coflux::copy(here, source, sink, {.count = &count}));
    EXPECT_TRUE(end.has_error());
    EXPECT_EQ(count.written, 20U);
    memory_source whole{.text = text};
    memory_sink broken{.piece = 4, .fails_at = 8};
    const auto other = co_await coflux::as_outcome(coflux::copy(here, whole, broken, {.count = &count}));
    EXPECT_TRUE(other.has_error());
    EXPECT_EQ(count.written, 8U);
    EXPECT_EQ(count.read, text.size());
}

CO_TEST(copy, into_a_buffered_writer_leaves_the_flush_to_its_owner) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text, .piece = 3};
    memory_sink sink;
    coflux::buffered_writer out(sink, 16);
    (void)co_await coflux::copy(here, source, out);
    EXPECT_EQ(sink.got + as_text(out.unflushed()), text);
    EXPECT_FALSE(out.unflushed().empty());
    co_await out.flush(here);
    EXPECT_EQ(sink.got, text);
}

template <typename E>
coflux::fork<std::uint64_t, E> passes_on(coflux::environment&, coflux::tcp_stream* from, coflux::tcp_stream* to) {
    auto&& here = co_await coflux::context();
    const std::uint64_t n = co_await coflux::copy(here, *from, *to);
    to->shutdown_send();
    co_return n;
}
template <typename E>
coflux::fork<void, E> sends(coflux::environment&, coflux::tcp_stream* to, std::size_t size) {
    std::string much(size, ' ');
    for (std::size_t i = 0; i != size; ++i) much[i] = static_cast<char>(i * 7 % 251);
    co_await to->write_all(much);
    to->shutdown_send();
}
template <typename E>
coflux::fork<std::size_t, E> receives(coflux::environment&, coflux::tcp_stream* from) {
    std::size_t n = 0;
    std::string part(100'000, ' ');
    while (const std::size_t got = co_await from->read_some(bytes_of(part))) {
        for (std::size_t i = 0; i != got; ++i) {
            if (part[i] != static_cast<char>((n + i) * 7 % 251)) {
                ADD_FAILURE() << "byte " << n + i;
                co_return n;
            }
        }
        n += got;
    }
    co_return n;
}
/// client <-> proxy <-> server, both ways at once.
template <typename E>
coflux::task<void, E> is_a_proxy(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto left = co_await connected(here);
    auto right = co_await connected(here);
    auto there = passes_on<E>(here, &left.far, &right.near);
    auto back = passes_on<E>(here, &right.near, &left.far);
    auto client = sends<E>(here, &left.near, 3'000'000);
    auto server = sends<E>(here, &right.far, 2'000'000);
    auto at_server = receives<E>(here, &right.far);
    auto at_client = receives<E>(here, &left.near);
    auto [a, b, c, d] =
        co_await coflux::when_all(std::move(there), std::move(back), std::move(at_server), std::move(at_client));
    EXPECT_EQ(a, 3'000'000U);
    EXPECT_EQ(b, 2'000'000U);
    EXPECT_EQ(c, 3'000'000U);
    EXPECT_EQ(d, 2'000'000U);
    co_await coflux::when_all(std::move(client), std::move(server));
}
TEST(copy, makes_a_proxy_on_a_worker) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    is_a_proxy<coflux::worker_executor>(env).get();
}
TEST(copy, makes_a_proxy_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool);
    is_a_proxy<coflux::thread_pool_executor>(env).get();
}

}  // namespace
