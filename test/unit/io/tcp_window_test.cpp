// A peer that does not read: its window closes, and what is sent waits for it.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using worker = coflux::worker_executor;

/// A pair between which little is on its way.
coflux::call<coflux_test::stream_pair> narrow(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const int bytes = 4096;
    EXPECT_EQ(setsockopt(p.far.native_handle(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    EXPECT_EQ(setsockopt(p.near.native_handle(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    co_return p;
}

/// The room that the peer of this one says it has.
std::size_t window_of_peer(const tcp_stream& s) {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(getsockopt(s.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_snd_wnd;
}

std::string letters(std::size_t count) {
    std::string all(count, ' ');
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<char>('a' + i % 23);
    return all;
}

coflux::fork<void, worker> sends(environment&, tcp_stream* to, const std::string* all) {
    co_await to->write_all(*all);
}
coflux::task<void, worker> waits_for_a_window(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await narrow(here);
    const std::string all = letters(150'000);
    auto sender = sends(here, &p.near, &all);
    for (int i = 0; i < 30'000 && window_of_peer(p.near) != 0; ++i) co_await coflux::sleep_for(1ms);
    EXPECT_EQ(window_of_peer(p.near), 0U);
    EXPECT_FALSE(sender.done());
    std::string got(all.size(), ' ');
    co_await p.far.read_exactly(bytes_of(got));
    EXPECT_EQ(got, all);
    co_await std::move(sender);
}
TEST(tcp_window, that_is_closed_makes_a_write_wait_until_the_peer_reads) {
    coflux_test::on_a_worker(waits_for_a_window);
}

coflux::task<void, worker> is_stopped_before_a_window(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await narrow(here);
    const std::string all = letters(4'000'000);
    std::size_t sent = 0;
    for (;;) {
        const auto moved = co_await coflux::timeout(p.near.write_some(std::string_view(all).substr(sent)), 20ms);
        if (!moved && window_of_peer(p.near) == 0) break;
        sent += moved.value_or(0);
    }
    p.near.shutdown_send();
    std::string got(all.size(), ' ');
    std::size_t read = 0;
    while (const std::size_t n = co_await p.far.read_some(bytes_of(got).subspan(read))) read += n;
    EXPECT_EQ(read, sent) << "a write that is stopped has sent nothing";
    EXPECT_EQ(got.substr(0, read), all.substr(0, sent));
}
TEST(tcp_window, that_is_closed_loses_nothing_by_a_stop_of_a_write) {
    coflux_test::on_a_worker(is_stopped_before_a_window);
}

}  // namespace
