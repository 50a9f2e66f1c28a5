#include <coflux/io/byte_source.hpp>

#include <cstddef>
#include <span>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "memory_streams.hpp"

namespace {

using coflux::byte_sink;
using coflux::byte_source;
using coflux::whole_sink;

struct not_awaited {
    std::size_t read_some(std::span<std::byte> into) { return into.size(); }
    std::size_t write_some(std::span<const std::byte> from) { return from.size(); }
};
struct without_count {
    coflux::call<void> read_some(coflux::environment&, std::span<std::byte>) { co_return; }
    coflux::call<int> write_some(coflux::environment&, std::span<const std::byte>) { co_return 0; }
};

struct faulty_sink : without_count {
    coflux::call<void> write_all(coflux::environment&, std::span<const std::byte>) { co_return; }
};

TEST(byte_source, is_what_gives_and_takes_bytes_with_and_without_an_environment) {
    EXPECT_TRUE(byte_source<coflux::tcp_stream> && byte_sink<coflux::tcp_stream>);
    EXPECT_TRUE(byte_source<coflux_test::memory_source> && byte_sink<coflux_test::memory_sink>);
    EXPECT_FALSE(byte_sink<coflux_test::memory_source> || byte_source<coflux_test::memory_sink>);
}
TEST(byte_source, has_whole_sinks_beside_it_which_are_no_byte_sinks) {
    EXPECT_TRUE(whole_sink<coflux_test::memory_whole_sink> && !byte_sink<coflux_test::memory_whole_sink>);
    EXPECT_FALSE(whole_sink<coflux::tcp_stream> || whole_sink<coflux::buffered_writer<coflux::tcp_stream>>);
    EXPECT_FALSE(whole_sink<int> || whole_sink<without_count>);
    EXPECT_FALSE(whole_sink<faulty_sink> || byte_sink<faulty_sink>);
}
TEST(byte_source, is_awaited_and_says_how_many_bytes) {
    EXPECT_FALSE(byte_source<not_awaited> || byte_sink<not_awaited>);
    EXPECT_FALSE(byte_source<without_count> || byte_sink<without_count>);
    EXPECT_FALSE(byte_source<int> || byte_sink<coflux::tcp_listener>);
}

}  // namespace
