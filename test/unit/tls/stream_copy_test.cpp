// copy() from a TLS stream and to it: a proxy that ends TLS.
#include <coflux/tls/stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::tcp_stream;

coflux::call<std::uint64_t> passes_on(coflux::environment&, tls_stream* from, tcp_stream* to) {
    auto&& here = co_await coflux::context();
    const std::uint64_t all = co_await coflux::copy(here, *from, *to);
    to->shutdown_send();
    co_return all;
}
coflux::call<std::uint64_t> passes_back(coflux::environment&, tcp_stream* from, tls_stream* to) {
    auto&& here = co_await coflux::context();
    const std::uint64_t all = co_await coflux::copy(here, *from, *to);
    co_await to->shutdown_send(here);
    co_return all;
}
coflux::call<void> sends_back(coflux::environment&, tcp_stream* peer) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::copy(here, *peer, *peer);
    peer->shutdown_send();
}
coflux::call<void> writes_and_ends(coflux::environment&, tls_stream* to, const std::string* bytes) {
    auto&& here = co_await coflux::context();
    co_await to->write_all(here, *bytes);
    co_await to->shutdown_send(here);
}
coflux::call<std::string> reads_all(coflux::environment&, tls_stream* from) {
    auto&& here = co_await coflux::context();
    std::string got;
    std::array<std::byte, 50'000> buffer{};
    while (const std::size_t n = co_await from->read_some(here, buffer))
        got.append(reinterpret_cast<const char*>(buffer.data()), n);
    co_return got;
}

/// client --TLS--> proxy --TCP--> server
struct proxied {
    tls_pair outside;
    tcp_stream inside;  // the proxy's end
    tcp_stream server;
};
coflux::call<proxied> connected(coflux::environment&) {
    auto&& here = co_await coflux::context();
    proxied p;
    p.outside = co_await secured(here);
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    p.inside = co_await tcp_stream::connect(listener.local_endpoint());
    p.server = co_await listener.accept();
    co_return p;
}

/// With a server that sends all back.
template <typename E>
coflux::task<void, E> ends_tls(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [outside, inside, server] = co_await connected(here);
    const std::string bytes = numbered(5'000'000, 7);
    const auto [written, got, there, back, ended] = co_await coflux::when_all(
        coflux::stop_on_error, writes_and_ends(here, &outside.near, &bytes), reads_all(here, &outside.near),
        passes_on(here, &outside.far, &inside), passes_back(here, &inside, &outside.far), sends_back(here, &server));
    EXPECT_TRUE(got == bytes);
    EXPECT_EQ(there, bytes.size());
    EXPECT_EQ(back, bytes.size());
}
TEST(tls_copy, makes_a_proxy_on_a_worker) {
    get_on_worker(ends_tls<worker>);
}
TEST(tls_copy, makes_a_proxy_on_a_pool) {
    get_on_pool(ends_tls<pool>);
}

/// A peer that does not read, until the copy to it is stopped: what arrives then is the beginning of what was read, and
/// the stream can be used on.
/// Returns: true if the stop came while bytes were on their way.
coflux::call<bool> stops_after(coflux::environment&, std::chrono::milliseconds limit) {
    auto&& here = co_await coflux::context();
    auto [outside, inside, server] = co_await connected(here);
    const std::string bytes = numbered(20'000'000, 8);
    const auto floods = [&](coflux::environment&) -> coflux::call<void> {
        co_await server.write_all(std::as_bytes(std::span(bytes)));
    };
    coflux::copy_count count;
    const auto flooded = co_await coflux::timeout(
        coflux::when_all(floods(here), coflux::copy(here, inside, outside.far, {.count = &count})), limit);
    EXPECT_FALSE(flooded.has_value());
    const auto [ended, got] =
        co_await coflux::when_all(outside.far.shutdown_send(here), reads_all(here, &outside.near));
    EXPECT_GE(got.size(), count.written);
    EXPECT_LE(got.size(), count.read);
    EXPECT_TRUE(got == bytes.substr(0, got.size()));
    co_return count.written < count.read;
}
coflux::task<void, worker> stops(coflux::environment&) {
    auto&& here = co_await coflux::context();
    bool was_on_its_way = false;
    for (auto limit = 20ms; !was_on_its_way && limit < 10s; limit *= 2)
        was_on_its_way = co_await stops_after(here, limit);
    EXPECT_TRUE(was_on_its_way);
}
TEST(tls_copy, that_is_stopped_says_how_much_arrives_at_least_and_at_most) {
    get_on_worker(stops);
}

}  // namespace
