// Lines over a connection, as source and as sink.
#include <coflux/stream/byte_lines.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

namespace {

namespace stream = coflux::stream;
using coflux::borrowed;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using pool = coflux::thread_pool_executor;

template <typename Block>
void on_pool(Block block) {
    pool on{2};
    auto env = coflux::make_environment(on);
    [](environment&, borrowed<Block> b) -> coflux::task<void, pool> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    }(env, borrowed(block))
                                               .get();
}

coflux::fork<void> sends(environment&, coflux::endpoint to, std::string bytes) {
    auto connection = co_await tcp_stream::connect(to);
    co_await connection.write_all(bytes);
}

/// The lines of a source of `bytes`, or its error.
std::string read_of(std::string bytes, std::size_t most_bytes) {
    std::string got;
    on_pool([&](environment& here) -> coflux::call<void> {
        tcp_listener listener(coflux::endpoint::loopback(0));
        auto sending = sends(here, listener.local_endpoint(), bytes);
        auto connection = co_await listener.accept();
        stream::byte_line_source from(connection, "peer", most_bytes);
        stream::batch<stream::text_line> batch;
        try {
            while (co_await from.read(here, batch, 3)) {}
        } catch (const stream::bad_text& e) {
            got = e.what();
        }
        for (const auto& r : batch) got += "|" + std::to_string(r.value.number) + r.value.text;
        co_await std::move(sending);
    });
    return got;
}

TEST(byte_lines, gives_the_lines_of_a_connection) {
    EXPECT_EQ(read_of("a\n\nb\r\nc\nd\n", 100), "|1a|2|3b|4c|5d");
    EXPECT_EQ(read_of("", 100), "");
}
TEST(byte_lines, names_the_line_that_is_too_long_or_cut_off) {
    EXPECT_EQ(read_of("a\nbcdefghi\n", 5), "coflux: peer, line 2: it has more than 5 bytes|1a");
    EXPECT_EQ(read_of("a\nb", 100), "coflux: peer, line 2: the stream ends within it|1a");
}

coflux::fork<std::string> collects(environment&, borrowed<tcp_listener> at) {
    auto& here = co_await coflux::context();
    auto connection = co_await at->accept();
    stream::byte_line_source from(connection, "peer");
    stream::batch<stream::text_line> batch;
    while (co_await from.read(here, batch, 100)) {}
    std::string all;
    for (const auto& r : batch) all += r.value.text + "|";
    co_return all;
}
TEST(byte_lines, sends_the_lines_of_a_job) {
    on_pool([](environment& here) -> coflux::call<void> {
        tcp_listener listener(coflux::endpoint::loopback(0));
        auto collecting = collects(here, borrowed(listener));
        {
            auto connection = co_await tcp_stream::connect(listener.local_endpoint());
            stream::byte_line_sink to(connection);
            (void)co_await stream::run(
                here, stream::from(stream::memory_source(std::vector<std::string>{"a", "b", "c"})) | stream::to(to));
            bool refused = false;
            try {
                (void)co_await stream::run(here, stream::from(stream::memory_source(std::vector<std::string>{"a\nb"})) |
                                                     stream::to(to));
            } catch (const std::invalid_argument&) {
                refused = true;
            }
            EXPECT_TRUE(refused);
        }
        EXPECT_EQ(co_await std::move(collecting), "a|b|c|");
    });
}

}  // namespace
