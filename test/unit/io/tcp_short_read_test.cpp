// After a read that gave less than it had room for: the next read waits without a look at the socket.
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::stream_pair;
using worker = coflux::worker_executor;

/// Two ends, the far one of which has read less than it had room for, and waited before.
coflux::call<stream_pair> read_short(coflux::environment&) {
    auto&& here = co_await coflux::context();
    stream_pair p = co_await coflux_test::connected(here);
    std::array<std::byte, 8> room{};
    const auto asks = [&] { return p.far.read_some(room); };
    EXPECT_FALSE((co_await coflux::timeout(asks(), 1ms)).has_value());
    co_await p.near.write_all("a");
    EXPECT_EQ(co_await asks(), 1U);
    co_return p;
}
coflux::fork<std::string, worker> read_of(coflux::environment&, tcp_stream* from, std::size_t room) {
    std::string got(room, ' ');
    got.resize(co_await from->read_some(bytes_of(got)));
    co_return got;
}
/// The thread has looked at what its sockets tell.
coflux::call<void> looks(coflux::environment&) {
    co_await coflux::sleep_for(2ms);
}

using steps = coflux::call<void> (*)(coflux::environment&, stream_pair*);
coflux::task<void, worker> after_a_short_read(coflux::environment&, steps f) {
    auto&& here = co_await coflux::context();
    stream_pair p = co_await read_short(here);
    co_await f(here, &p);
}
void after_a_short_read(steps f) {
    worker on;
    auto env = coflux::make_environment(on);
    after_a_short_read(env, f).get();
}

TEST(tcp_short_read, the_next_read_gives_what_comes_while_it_waits) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        auto waits = read_of(here, &p->far, 8);
        co_await looks(here);
        co_await p->near.write_all("bc");
        EXPECT_EQ(co_await std::move(waits), "bc");
    });
}

TEST(tcp_short_read, the_next_read_gives_what_has_come_before) {
    for (const bool looked : {false, true}) {
        static bool told;
        told = looked;
        after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
            auto&& here = co_await coflux::context();
            co_await p->near.write_all("bcd");
            if (told) co_await looks(here);
            EXPECT_EQ(co_await read_of(here, &p->far, 2), "bc");
            EXPECT_EQ(co_await read_of(here, &p->far, 2), "d");
        });
    }
}

TEST(tcp_short_read, the_end_that_came_with_the_last_bytes_is_seen) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        co_await p->near.write_all("bc");
        p->near.shutdown_send();
        co_await looks(here);  // one report of both
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "bc");
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "");
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "") << "again and again";
    });
}
TEST(tcp_short_read, the_end_that_comes_later_is_seen) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        auto waits = read_of(here, &p->far, 8);
        co_await looks(here);
        p->near.shutdown_send();
        EXPECT_EQ(co_await std::move(waits), "");
    });
}
TEST(tcp_short_read, a_reset_is_seen) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        std::move(p->near).reset();
        co_await looks(here);
        auto waits = read_of(here, &p->far, 8);
        EXPECT_THROW(co_await std::move(waits), std::system_error);
    });
}

// A read ends before a byte out of band, whatever comes behind that.
TEST(tcp_short_read, bytes_behind_urgent_ones_are_seen) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        const int near = p->near.native_handle();
        EXPECT_EQ(send(near, "bc", 2, MSG_NOSIGNAL), 2);
        EXPECT_EQ(send(near, "!", 1, MSG_NOSIGNAL | MSG_OOB), 1);
        EXPECT_EQ(send(near, "de", 2, MSG_NOSIGNAL), 2);
        co_await looks(here);
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "bc");
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "de");
    });
}

TEST(tcp_short_read, a_limit_of_nothing_gives_what_is_there) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        std::array<std::byte, 8> room{};
        co_await p->near.write_all("b");
        coflux_test::await_bytes(p->far);
        const auto got = co_await coflux::timeout(p->far.read_some(room), 0s);
        EXPECT_EQ(got.value_or(0), 1U);
    });
}

// Operations that do not tell whether they left something, and are told of the same bytes.
TEST(tcp_short_read, a_wait_for_bytes_and_reads_of_them_follow) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        co_await p->near.write_all("bcd");
        co_await p->far.wait_readable();
        EXPECT_EQ(co_await read_of(here, &p->far, 2), "bc");
        co_await p->far.wait_readable();
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "d");
    });
}
TEST(tcp_short_read, a_read_into_several_buffers_follows) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        co_await p->near.write_all("bcdefg");
        std::array<std::byte, 1> one{};
        std::array<std::byte, 2> two{};
        const std::array<std::span<std::byte>, 2> both{one, two};
        EXPECT_EQ(co_await p->far.read_some(both), 3U);
        EXPECT_EQ(co_await p->far.read_some(both), 3U);
        co_await p->near.write_all("h");
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "h");
    });
}
TEST(tcp_short_read, a_stopped_read_loses_nothing) {
    after_a_short_read(+[](coflux::environment&, stream_pair* p) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        auto inside = coflux::make_environment(here);
        auto waits = read_of(inside, &p->far, 8);
        co_await looks(here);
        inside.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(waits))).is_stopped());
        co_await inside.join();
        co_await p->near.write_all("bc");
        EXPECT_EQ(co_await read_of(here, &p->far, 1), "b");
        EXPECT_EQ(co_await read_of(here, &p->far, 8), "c");
    });
}

// More reads than a round has room for: the last of them are not tried in it, whether something has come or not.
coflux::task<void, worker> read_many(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<stream_pair> pairs;
    for (std::size_t i = 0; i < 300; ++i) pairs.push_back(co_await read_short(here));
    const auto has_come = [](std::size_t i) { return i % 3 == 0; };
    const auto has_ended = [](std::size_t i) { return i % 3 == 1; };
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (has_come(i)) co_await pairs[i].near.write_all("bc");
        if (has_ended(i)) {  // one report of both
            co_await pairs[i].near.write_all("b");
            pairs[i].near.shutdown_send();
        }
    }
    co_await looks(here);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (!has_ended(i)) continue;
        EXPECT_EQ(co_await read_of(here, &pairs[i].far, 8), "b");
    }
    std::vector<coflux::fork<std::string, worker>> reads;
    for (stream_pair& p : pairs) reads.push_back(read_of(here, &p.far, 8));
    co_await looks(here);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (!has_come(i) && !has_ended(i)) co_await pairs[i].near.write_all("bcd");
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::string wanted = has_come(i) ? "bc" : has_ended(i) ? "" : "bcd";
        EXPECT_EQ(co_await std::move(reads[i]), wanted);
    }
}
TEST(tcp_short_read, reads_of_many_sockets_at_once_give_what_has_come) {
    worker on;
    auto env = coflux::make_environment(on);
    read_many(env).get();
}

// A socket of another protocol, whose reads end with a message; here of UDP.
coflux::task<void, worker> read_messages(coflux::environment&) {
    const int one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto binds = [](int number) {
        coflux::endpoint name = coflux_test::own_loopback();
        EXPECT_EQ(bind(number, static_cast<const sockaddr*>(name.data()), static_cast<socklen_t>(name.size())), 0);
        socklen_t size = coflux::endpoint::capacity();
        EXPECT_EQ(getsockname(number, static_cast<sockaddr*>(name.data()), &size), 0);
        name.resize(size);
        return name;
    };
    const coflux::endpoint at_one = binds(one);
    const coflux::endpoint at_other = binds(other);
    const auto connects = [](int number, const coflux::endpoint& to) {
        EXPECT_EQ(connect(number, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())), 0);
    };
    connects(one, at_other);
    connects(other, at_one);
    tcp_stream sends = tcp_stream::adopt(coflux::owned_descriptor(one));
    tcp_stream reads = tcp_stream::adopt(coflux::owned_descriptor(other));
    for (const std::string_view message : {"a", "b", "c", "d"}) co_await sends.write_all(message);
    auto&& here = co_await coflux::context();
    for (const std::string_view message : {"a", "b", "c", "d"}) EXPECT_EQ(co_await read_of(here, &reads, 8), message);
}
TEST(tcp_short_read, is_no_sign_where_reads_end_with_a_message) {
    worker on;
    auto env = coflux::make_environment(on);
    read_messages(env).get();
}

/// The reader goes from one thread to another after each read.
coflux::task<void, coflux::thread_pool_executor> talk_at_length(coflux::environment&) {
    auto&& here = co_await coflux::context();
    stream_pair p = co_await coflux_test::connected(here);
    const auto sends = [](coflux::environment&, tcp_stream* to) -> coflux::fork<void> {
        for (int i = 0; i < 3000; ++i) {
            co_await to->write_all(std::string(static_cast<std::size_t>(1 + i % 7), 'x'));
            if (i % 16 == 0) co_await coflux::yield();
        }
        to->shutdown_send();
    };
    auto sender = sends(here, &p.near);
    std::size_t sum = 0;
    std::array<std::byte, 16> room{};
    while (const std::size_t n = co_await p.far.read_some(room)) {
        sum += n;
        co_await coflux::yield();
    }
    co_await std::move(sender);
    std::size_t sent = 0;
    for (int i = 0; i < 3000; ++i) sent += static_cast<std::size_t>(1 + i % 7);
    EXPECT_EQ(sum, sent);
}
TEST(tcp_short_read, no_byte_is_missed_on_a_pool) {
    coflux::thread_pool_executor on(2);
    auto env = coflux::make_environment(on);
    for (int i = 0; i < 5; ++i) talk_at_length(env).get();
}

}  // namespace
