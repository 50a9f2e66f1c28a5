// A peer that goes while a write waits for room, and a listener that has none.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "signal_count.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::unix_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::signal_count;
using coflux_test::signals;
using worker = coflux::worker_executor;

bool is_of_a_gone_peer(std::error_code e) {
    return e == std::errc::broken_pipe || e == std::errc::connection_reset;
}

// --- local sockets ---------------------------------------------------------------------------------------------------

const std::string much(5'000'000, 'x');

coflux::fork<std::error_code, worker> writes_much(environment&, unix_stream* to) {
    const auto sent = co_await as_result(to->write_all(much));
    co_return sent.error();
}
coflux::fork<std::error_code, worker> writes_much_in_parts(environment&, unix_stream* to) {
    const auto half = std::as_bytes(std::span(much)).first(much.size() / 2);
    const std::array parts{half, half};
    const auto sent = co_await as_result(to->write_all(parts));
    co_return sent.error();
}
coflux::fork<std::error_code, worker> sends_a_descriptor(environment&, unix_stream* to) {
    const std::array one{STDIN_FILENO};
    const auto sent = co_await as_result(to->send_descriptors(one, std::as_bytes(std::span(much))));
    co_return sent.error();
}
using writer = coflux::fork<std::error_code, worker>(environment&, unix_stream*);
constexpr std::array<writer*, 3> writers{&writes_much, &writes_much_in_parts, &sends_a_descriptor};

/// There is no room, and the writer waits for it.
coflux::call<void> until_full(environment&, const unix_stream* from) {
    while (write(from->native_handle(), "x", 1) == 1) co_await coflux::this_coroutine::yield();
    for (int i = 0; i < 10; ++i) co_await coflux::this_coroutine::yield();
}
coflux::task<void, worker> waits_for_room(environment&, writer* writes, bool reads_some) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_stream::pair();
    auto waits = writes(here, &near);
    co_await until_full(here, &near);
    EXPECT_FALSE(waits.done());
    if (reads_some) {
        std::string some(100'000, ' ');
        EXPECT_GT(co_await far.read_some(bytes_of(some)), 0U);
        co_await until_full(here, &near);
    }
    far.close();
    EXPECT_TRUE(is_of_a_gone_peer(co_await std::move(waits)));
}
TEST(gone_peer, of_a_local_socket_is_an_error_of_a_write_that_waits_and_no_signal) {
    const signal_count counted;
    for (writer* const each : writers) {
        for (const bool reads_some : {false, true}) on_a_worker(waits_for_room, each, reads_some);
    }
    EXPECT_EQ(signals, 0);
}

coflux::task<void, worker> writes_to_none(environment&, writer* writes) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_stream::pair();
    far.close();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(co_await writes(here, &near), std::errc::broken_pipe);
    }
}
TEST(gone_peer, of_a_local_socket_is_an_error_of_each_later_write_and_no_signal) {
    const signal_count counted;
    for (writer* const each : writers) on_a_worker(writes_to_none, each);
    EXPECT_EQ(signals, 0);
}

// --- TCP -------------------------------------------------------------------------------------------------------------

std::string letters(std::size_t count) {
    std::string all(count, ' ');
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<char>('a' + i % 23);
    return all;
}

struct sent {
    std::size_t count = 0;  // of pieces that were written before the error
    std::error_code error;
};
constexpr std::size_t piece = 100'000;

coflux::fork<sent, worker> writes_pieces(environment&, tcp_stream* to, const std::string* all) {
    sent how;
    for (; how.count < all->size() / piece; ++how.count) {
        const auto part = std::as_bytes(std::span(*all)).subspan(how.count * piece, piece);
        const auto written = co_await as_result(to->write_all(part));
        how.error = written.error();
        if (how.error) break;
    }
    co_return how;
}
coflux::fork<sent, worker> writes_some(environment&, tcp_stream* to, const std::string* all) {
    sent how;
    while (how.count < all->size()) {
        const auto written = co_await as_result(to->write_some(std::as_bytes(std::span(*all)).subspan(how.count)));
        how.error = written.error();
        if (how.error) break;
        how.count += written.value();
    }
    co_return how;
}
/// Bytes that the peer has not read are lost by a reset. It has read the first ones, in order.
coflux::task<void, worker> is_reset(environment&, bool in_pieces) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const int room = 65'536;
    EXPECT_EQ(setsockopt(p.near.native_handle(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    EXPECT_EQ(setsockopt(p.far.native_handle(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    const std::string all = letters(30 * piece);
    auto writer = in_pieces ? writes_pieces(here, &p.near, &all) : writes_some(here, &p.near, &all);
    std::string got(3 * piece, ' ');
    co_await p.far.read_exactly(bytes_of(got));
    EXPECT_EQ(got, all.substr(0, got.size()));
    EXPECT_FALSE(writer.done());
    p.far.reset();
    const sent how = co_await std::move(writer);
    EXPECT_TRUE(is_of_a_gone_peer(how.error)) << how.error;
    const std::size_t bytes = in_pieces ? how.count * piece : how.count;
    EXPECT_LT(bytes, all.size());
    EXPECT_GE(bytes + (in_pieces ? piece : 0), got.size());  // what the peer has read, and the piece that was cut
    const auto again = co_await as_result(p.near.write_all("x"));
    EXPECT_EQ(again.error(), std::errc::broken_pipe);
}
TEST(gone_peer, that_resets_is_an_error_of_a_write_that_waits_for_room) {
    const signal_count counted;
    for (const bool in_pieces : {false, true}) on_a_worker(is_reset, in_pieces);
    EXPECT_EQ(signals, 0);
}

coflux::fork<tcp_stream, worker> connects(environment&, coflux::endpoint to, std::size_t* made) {
    tcp_stream s = co_await tcp_stream::connect(to);
    ++*made;
    co_return s;
}
/// Two fit into a backlog of one. The system drops what comes for a third, and asks again after a second.
coflux::task<void, worker> fills_a_backlog(environment&) {
    constexpr std::size_t many = 4;
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback(), {.backlog = 1});
    std::size_t made = 0;
    std::vector<coflux::fork<tcp_stream, worker>> all;
    for (std::size_t i = 0; i < many; ++i) all.push_back(connects(here, listener.local_endpoint(), &made));
    while (made < 2) co_await coflux::this_coroutine::yield();
    for (int i = 0; i < 100; ++i) co_await coflux::sleep_for(100us);
    EXPECT_EQ(made, 2U);  // the others wait
    std::vector<tcp_stream> far;
    for (std::size_t i = 0; i < many; ++i) far.push_back(co_await listener.accept());
    for (auto& each : all) {
        const tcp_stream near = co_await std::move(each);
        EXPECT_EQ(std::ranges::count(far, near.local_endpoint(), &tcp_stream::peer_endpoint), 1);
    }
}
TEST(full_backlog, makes_a_connect_wait_until_an_accept_makes_room) {
    on_a_worker(fills_a_backlog);
}

}  // namespace
