// How a stop ends each operation of a TLS stream.
#include <coflux/tls/stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;

template <typename E>
coflux::fork<void, E> shakes(coflux::environment&, tls_stream* s) {
    auto&& here = co_await coflux::context();
    co_await s->handshake(here);
}
template <typename E>
coflux::task<void, E> stops_handshake(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, trusting_client(), localhost_server(), "localhost");
    EXPECT_FALSE(co_await coflux::timeout(shakes<E>(here, &p.near), 5ms));  // the peer is silent
    auto stopped = shakes<E>(here, &p.far);                                 // in the middle, or soon
    co_await coflux::yield();
    stopped.request_stop();
    (void)co_await coflux::as_outcome(std::move(stopped));
    EXPECT_FALSE(p.near.has_failed());
    // Both go on from there.
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    co_await p.near.write_all(here, "four");
    std::string four(4, ' ');
    co_await p.far.read_exactly(here, bytes_of(four));
    EXPECT_EQ(four, "four");
}
TEST(tls_stop, in_a_handshake_loses_nothing_on_a_worker) {
    get_on_worker(stops_handshake<worker>);
}
TEST(tls_stop, in_a_handshake_loses_nothing_on_a_pool) {
    get_on_pool(stops_handshake<pool>);
}

/// Reads with limits that pass again and again, in any phase.
template <typename E>
coflux::fork<std::string, E> reads_hastily(coflux::environment&, tls_stream* from, std::size_t size) {
    auto&& here = co_await coflux::context();
    std::string all;
    std::array<std::byte, 10'000> buffer{};
    for (int i = 0; all.size() < size; ++i) {
        const auto got =
            co_await coflux::timeout(from->read_some(here, buffer), std::chrono::microseconds(10 * (i % 20) + 1));
        if (!got) continue;
        EXPECT_NE(*got, 0U);
        all.append(reinterpret_cast<const char*>(buffer.data()), *got);
    }
    co_return all;
}
template <typename E>
coflux::fork<void, E> writes_in_steps(coflux::environment&, tls_stream* to, const std::string* bytes,
                                      std::size_t step) {
    auto&& here = co_await coflux::context();
    for (std::size_t at = 0; at < bytes->size(); at += step) {
        co_await to->write_all(here, std::string_view(*bytes).substr(at, step));
        if (at / step % 16 == 0) co_await coflux::yield();
    }
}
template <typename E>
coflux::task<void, E> loses_nothing(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string bytes = numbered(1'000'000, 3);
    auto reader = reads_hastily<E>(here, &p.far, bytes.size());
    auto writer = writes_in_steps<E>(here, &p.near, &bytes, 1'234);
    EXPECT_TRUE(co_await std::move(reader) == bytes);
    co_await std::move(writer);
}
TEST(tls_stop, of_read_some_loses_nothing_on_a_worker) {
    get_on_worker(loses_nothing<worker>);
}
TEST(tls_stop, of_read_some_loses_nothing_on_a_pool) {
    get_on_pool(loses_nothing<pool>);
}

/// The bytes that arrive are those that were given, up to somewhere, and then the rest of what is written later: no
/// record is cut.
template <typename E>
coflux::task<void, E> stops_writer(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string bytes = numbered(20'000'000, 4);
    std::string got;
    std::array<std::byte, 100'000> buffer{};
    auto stopped = writes_in_steps<E>(here, &p.near, &bytes, bytes.size());
    const std::size_t first = co_await p.far.read_some(here, buffer);
    got.append(reinterpret_cast<const char*>(buffer.data()), first);
    co_await 20ms;  // until it waits for room, most often
    stopped.request_stop();
    const auto how = co_await coflux::as_outcome(std::move(stopped));
    EXPECT_TRUE(how.is_stopped());
    // Its end goes out behind what was left; the other side reads until then.
    auto reader = reads_hastily<E>(here, &p.near, 4);
    co_await p.far.write_all(here, "four");
    EXPECT_EQ(co_await std::move(reader), "four");
    const auto read_all = [&](coflux::environment&) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        while (const std::size_t n = co_await p.far.read_some(self, buffer))
            got.append(reinterpret_cast<const char*>(buffer.data()), n);
    };
    co_await coflux::when_all(read_all(here), p.near.shutdown_send(here));
    EXPECT_GT(got.size(), 0U);
    EXPECT_LT(got.size(), bytes.size());
    EXPECT_TRUE(got == bytes.substr(0, got.size()));
    const auto [near, far] = co_await coflux::when_all(p.near.shutdown(here, late()), p.far.shutdown(here, late()));
    EXPECT_TRUE(near);
    EXPECT_TRUE(far);
}
TEST(tls_stop, of_write_all_cuts_no_record_on_a_worker) {
    get_on_worker(stops_writer<worker>);
}
TEST(tls_stop, of_write_all_cuts_no_record_on_a_pool) {
    get_on_pool(stops_writer<pool>);
}

/// Reads what there is, until nothing comes for a while.
coflux::call<std::size_t> drains(coflux::environment&, tls_stream* from) {
    auto&& here = co_await coflux::context();
    std::array<std::byte, 100'000> buffer{};
    std::size_t all = 0;
    for (;;) {
        const auto got = co_await coflux::timeout(from->read_some(here, buffer), 20ms);
        if (!got) co_return all;
        all += *got;
    }
}
coflux::task<void, worker> leaves_some(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string bytes = numbered(20'000'000, 4);
    std::array<std::byte, 100> buffer{};
    std::size_t left = 0;
    // A writer that is stopped while the socket has room leaves nothing: longer then.
    for (auto limit = 10ms; left == 0 && limit < 10s; limit *= 2) {
        EXPECT_FALSE(co_await coflux::timeout(writes_in_steps<worker>(here, &p.near, &bytes, bytes.size()), limit));
        (void)co_await drains(here, &p.far);
        // A record was encrypted, and is not sent. A reader that is about to wait sends it.
        EXPECT_FALSE(co_await coflux::timeout(p.near.read_some(here, buffer), 10ms));
        left = co_await drains(here, &p.far);
    }
    EXPECT_GT(left, 0U);
}
TEST(tls_stop, of_write_all_leaves_what_goes_out_with_the_next_read) {
    get_on_worker(leaves_some);
}

coflux::task<void, worker> combines(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair a = co_await secured(here);
    tls_pair b = co_await secured(here);
    std::array<std::byte, 4> one{};
    std::array<std::byte, 4> two{};
    co_await b.far.write_all(here, "b");
    const auto first = co_await coflux::when_any(a.near.read_some(here, one), b.near.read_some(here, two));
    EXPECT_EQ(first.index(), 1U);
    co_await a.far.write_all(here, "aa");
    const auto kept = co_await coflux::as_outcome(a.near.read_some(here, one));
    EXPECT_EQ(kept.value(), 2U);  // the loser took none
    // A scope that ends while its child reads.
    {
        auto inside = coflux::make_environment(here);
        auto waits = reads_hastily<worker>(inside, &a.near, 100);
        co_await 1ms;
        inside.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(waits))).is_stopped());
        co_await inside.join();
    }
    co_await a.far.write_all(here, "cc");
    EXPECT_EQ(co_await a.near.read_some(here, one), 2U);
}
TEST(tls_combined, takes_part_in_limits_and_in_choices) {
    get_on_worker(combines);
}

}  // namespace
