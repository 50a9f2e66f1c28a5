// A peer that sends a part of a message of TLS after the handshake, and keeps back the rest for a while: OpenSSL writes
// nothing before it has the rest.
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"
#include "withholding_server.hpp"

namespace {

using namespace coflux_test;

/// A stream that has got a part of a message.
coflux::call<tls_stream> has_a_part(coflux::environment&, withholding_server* server) {
    auto&& here = co_await coflux::context();
    coflux::tls_client_options options;
    options.verifies_peer = false;
    const auto context = coflux::tls_context::client(options);
    tls_stream stream(context, co_await coflux::tcp_stream::connect(server->at()), "localhost");
    co_await stream.handshake(here);
    while (!server->has_sent_part()) co_await 1ms;
    std::array<std::byte, 100> buffer{};
    const auto got = co_await coflux::timeout(stream.read_some(here, buffer), 50ms);
    EXPECT_FALSE(got.has_value());
    co_return stream;
}

template <typename E>
coflux::fork<void, E> says_end(coflux::environment&, tls_stream* to) {
    auto&& here = co_await coflux::context();
    co_await to->shutdown_send(here);
}

template <typename E>
coflux::task<void, E> writes_with_no_reader(coflux::environment&, withholding_server* server) {
    auto&& here = co_await coflux::context();
    tls_stream stream = co_await has_a_part(here, server);
    auto writer = writes<E>(here, &stream, "hello");
    co_await 5ms;
    EXPECT_FALSE(writer.done());
    server->send_rest();
    co_await std::move(writer);
    EXPECT_EQ(co_await reads<E>(here, &stream, 5), "hello");
}
TEST(tls_stream_withheld, lets_a_writer_go_on_when_the_rest_has_come) {
    withholding_server server;
    get_on_worker(writes_with_no_reader<worker>, &server);
}
TEST(tls_stream_withheld, lets_a_writer_on_a_pool_go_on_when_the_rest_has_come) {
    withholding_server server;
    get_on_pool(writes_with_no_reader<pool>, &server);
}

/// The reader comes first, or the writer.
template <typename E>
coflux::task<void, E> writes_beside_a_reader(coflux::environment&, withholding_server* server, bool reader_first) {
    auto&& here = co_await coflux::context();
    tls_stream stream = co_await has_a_part(here, server);
    const std::string text = numbered(100'000, 8);
    coflux::fork<std::string, E> reader;
    if (reader_first) {
        reader = reads<E>(here, &stream, text.size());
        co_await 2ms;
    }
    auto writer = writes<E>(here, &stream, text);
    co_await 2ms;
    if (!reader_first) reader = reads<E>(here, &stream, text.size());
    co_await 2ms;
    EXPECT_FALSE(writer.done());
    server->send_rest();
    co_await std::move(writer);
    EXPECT_TRUE(co_await std::move(reader) == text);
}
TEST(tls_stream_withheld, lets_a_writer_go_on_beside_a_reader) {
    for (const bool reader_first : {true, false}) {
        withholding_server one;
        get_on_worker(writes_beside_a_reader<worker>, &one, reader_first);
        withholding_server two;
        get_on_pool(writes_beside_a_reader<pool>, &two, reader_first);
    }
}

/// Each of the two is stopped while both want the rest, and the other one gets it.
template <typename E>
coflux::task<void, E> stops_one(coflux::environment&, withholding_server* server, bool reader_first,
                                bool stops_reader) {
    auto&& here = co_await coflux::context();
    tls_stream stream = co_await has_a_part(here, server);
    coflux::fork<std::string, E> reader;
    if (reader_first) {
        reader = reads<E>(here, &stream, 5);
        co_await 2ms;
    }
    auto writer = writes<E>(here, &stream, "hello");
    co_await 2ms;
    if (!reader_first) reader = reads<E>(here, &stream, 5);
    co_await 2ms;
    if (stops_reader) {
        reader.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(reader));
        EXPECT_TRUE(end.is_stopped());
        server->send_rest();
        co_await std::move(writer);
        EXPECT_EQ(co_await reads<E>(here, &stream, 5), "hello");
        co_return;
    }
    writer.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(writer));
    EXPECT_TRUE(end.is_stopped());
    server->send_rest();
    co_await writes<E>(here, &stream, "later");
    EXPECT_EQ(co_await std::move(reader), "later");
}
TEST(tls_stream_withheld, lets_the_other_one_go_on_where_a_reader_or_a_writer_is_stopped) {
    for (const bool reader_first : {true, false}) {
        for (const bool stops_reader : {true, false}) {
            withholding_server one;
            get_on_worker(stops_one<worker>, &one, reader_first, stops_reader);
            withholding_server two;
            get_on_pool(stops_one<pool>, &two, reader_first, stops_reader);
        }
    }
}

coflux::task<void, worker> ends(coflux::environment&, withholding_server* server) {
    auto&& here = co_await coflux::context();
    tls_stream stream = co_await has_a_part(here, server);
    // It cannot be said before the rest has come, and is no error.
    EXPECT_FALSE(co_await stream.shutdown(here, std::chrono::steady_clock::now()));
    EXPECT_FALSE(co_await stream.shutdown(here, soon()));
    EXPECT_FALSE(stream.has_failed());
    auto end = says_end<worker>(here, &stream);
    co_await 2ms;
    EXPECT_FALSE(end.done());
    server->send_rest();
    co_await std::move(end);
    EXPECT_EQ(co_await reads<worker>(here, &stream, 5), "");
    EXPECT_TRUE(co_await stream.shutdown(here, late()));
}
TEST(tls_stream_withheld, lets_the_end_be_said_when_the_rest_has_come) {
    withholding_server server;
    get_on_worker(ends, &server);
}

coflux::task<void, worker> never_comes(coflux::environment&, withholding_server* server) {
    auto&& here = co_await coflux::context();
    tls_stream stream = co_await has_a_part(here, server);
    EXPECT_FALSE(co_await coflux::timeout(writes<worker>(here, &stream, "hello"), 5ms));
    EXPECT_FALSE(stream.has_failed());
    server->hang_up();
    std::error_code code;
    try {
        co_await stream.write_all(here, "hello");
    } catch (const std::system_error& e) {
        code = e.code();
    }
    // With bytes unread, the server's end is a reset.
    EXPECT_TRUE(code == coflux::tls_errc::truncated || code == std::errc::connection_reset) << code.message();
}
TEST(tls_stream_withheld, fails_a_write_where_the_rest_never_comes) {
    withholding_server server;
    get_on_worker(never_comes, &server);
}

}  // namespace
