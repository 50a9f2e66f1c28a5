// The ends of the operations of stop_matrix.hpp, and the checks after a stop of each.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stop_matrix.hpp"

namespace coflux_test {

/// Where descriptors come or go with bytes.
union control_room {
    cmsghdr header;  // for its alignment
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

/// Reads what is there, by one call. Returns what read() does.
inline ssize_t take_some(int from, stop_place& at) {
    std::vector<std::byte> buffer(250'000);
    iovec into{buffer.data(), buffer.size()};
    control_room room{};
    msghdr h{};
    h.msg_iov = &into;
    h.msg_iovlen = 1;
    h.msg_control = &room;
    h.msg_controllen = sizeof room;
    ssize_t n = recvmsg(from, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) h.msg_controllen = 0;
    if (n < 0 && errno == ENOTSOCK) n = read(from, buffer.data(), buffer.size());
    if (n <= 0) return n;
    if (const cmsghdr* const came = CMSG_FIRSTHDR(&h); came != nullptr) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(came), sizeof descriptor);
        close(descriptor);
        ++at.taken_with;
    }
    at.taken += static_cast<std::size_t>(n);
    // Those before the operation are zeros; then comes what it writes, without a gap.
    const auto size = static_cast<std::size_t>(n);
    const std::size_t before = at.taken - size;
    const std::size_t zeros = std::min(size, at.prefilled - std::min(at.prefilled, before));
    static const std::vector<std::byte> all_zeros(buffer.size());
    EXPECT_EQ(std::memcmp(buffer.data(), all_zeros.data(), zeros), 0);
    const std::span mine = std::span(buffer).first(size).subspan(zeros);
    const std::size_t at_byte = before + zeros - at.prefilled;
    const bool fits = !mine.empty() && at_byte + mine.size() <= written_bytes().size();
    EXPECT_TRUE(mine.empty() || (fits && std::memcmp(mine.data(), &written_bytes()[at_byte], mine.size()) == 0))
        << "at byte " << at_byte;
    return n;
}
inline void take_all(int from, stop_place& at) {
    while (take_some(from, at) > 0) {}
}
/// Until the writing side, which has ended the stream, has no more.
inline void take_to_the_end(int from, stop_place& at) {
    for (;;) {
        pollfd ready{from, POLLIN, 0};
        ASSERT_EQ(poll(&ready, 1, 10'000), 1);
        const ssize_t n = take_some(from, at);
        if (n == 0) return;
        ASSERT_TRUE(n > 0 || errno == EAGAIN) << errno;
    }
}

inline void send_two_with_a_descriptor(stop_place& at) {
    const int descriptor = at.pipe.reader.native_handle();
    iovec from{const_cast<std::byte*>(written_bytes().data()), 2};
    control_room room{};
    msghdr h{};
    h.msg_iov = &from;
    h.msg_iovlen = 1;
    h.msg_control = &room;
    h.msg_controllen = sizeof room;
    cmsghdr* const with = CMSG_FIRSTHDR(&h);
    with->cmsg_level = SOL_SOCKET;
    with->cmsg_type = SCM_RIGHTS;
    with->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(with), &descriptor, sizeof descriptor);
    EXPECT_EQ(sendmsg(at.local.second.native_handle(), &h, 0), 2);
}
inline void connect_client(stop_place& at, const coflux::endpoint& to) {
    at.client = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(at.client, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())), 0);
}

/// The kernel's report of a connection over TCP. By hand: the C library's header ends before the bytes, and the
/// kernel's contradicts it.
struct tcp_report {
    static constexpr int syn_sent = 2;
    int state = 0;  // 0: there is no such connection
    std::uint64_t acknowledged = 0;
};
inline tcp_report report_of(int descriptor) {
    constexpr int option = 11;  // TCP_INFO
    constexpr std::size_t acknowledged_at = 120;
    std::array<unsigned char, 128> info{};
    socklen_t size = info.size();
    tcp_report r;
    if (getsockopt(descriptor, IPPROTO_TCP, option, info.data(), &size) != 0) return r;
    r.state = info[0];
    std::memcpy(&r.acknowledged, &info[acknowledged_at], sizeof r.acknowledged);
    return r;
}
/// The connect under way ends at once, though its listener is full: another socket of that endpoint connects to where
/// it comes from, which TCP knows as a simultaneous open. Else its peer would try again in a second.
inline void meet_connect(stop_place& at) {
    const coflux::endpoint& to = at.connects_to;
    sockaddr_in from{};
    socklen_t size = sizeof from;
    for (int d = 0; d < 1000 && from.sin_port == 0; ++d) {
        if (report_of(d).state == tcp_report::syn_sent) getsockname(d, reinterpret_cast<sockaddr*>(&from), &size);
    }
    ASSERT_NE(from.sin_port, 0);
    at.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ASSERT_EQ(setsockopt(at.client, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    ASSERT_EQ(bind(at.client, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())), 0);
    ASSERT_EQ(connect(at.client, reinterpret_cast<const sockaddr*>(&from), size), 0);
}

/// Ends the operation by calls of this thread: it has happened when this returns.
inline void act(stopped_operation w, stop_place& at) {
    switch (w) {
    case stopped_operation::accept: connect_client(at, at.listener.local_endpoint()); break;
    case stopped_operation::accept_local: connect_client(at, at.local_listener.local_endpoint()); break;
    case stopped_operation::connect:
        if (at.connects_to == at.full.local_endpoint()) meet_connect(at);
        break;
    case stopped_operation::receive_descriptors: send_two_with_a_descriptor(at); break;
    case stopped_operation::next_signal: EXPECT_EQ(raise(SIGUSR1), 0); break;
    case stopped_operation::wait_for_child: {
        at.child.standard_input().close();
        siginfo_t end{};
        EXPECT_EQ(waitid(P_PID, static_cast<id_t>(at.child.id()), &end, WEXITED | WNOWAIT), 0);
        break;
    }
    default:
        if (writes_all(w) || writes_some(w))
            take_all(ends_of(w, at).reads, at);
        else
            EXPECT_EQ(write(ends_of(w, at).writes, written_bytes().data(), 2), 2);
        break;
    }
}

/// Bytes that the system has had from the operation until now, and from what came before it.
inline std::size_t accepted(stopped_operation w, stop_place& at) {
    const auto [reads, writes] = ends_of(w, at);
    int queued = 0;
    tcp_report now = report_of(writes);
    if (now.state == 0) {
        EXPECT_EQ(ioctl(reads, FIONREAD, &queued), 0);
        return at.taken + static_cast<std::size_t>(queued);
    }
    for (tcp_report before{-1, 0}; before.state < 0 || before.acknowledged != now.acknowledged;) {
        before = now;
        EXPECT_EQ(ioctl(writes, SIOCOUTQ, &queued), 0);
        now = report_of(writes);
    }
    return static_cast<std::size_t>(now.acknowledged) + static_cast<std::size_t>(queued);
}

/// Only the next operation can tell of a signal or a child.
inline coflux::call<void> takes_what_is_left(coflux::environment&, stopped_operation w, stop_place* at) {
    using std::chrono::milliseconds;
    if (w == stopped_operation::next_signal)
        at->left = co_await coflux::timeout(at->signals->next(), milliseconds(1)) ? 1 : 0;
    if (w == stopped_operation::wait_for_child)
        at->left = co_await coflux::timeout(at->child.wait(), milliseconds(1)) ? 1 : 0;
}

/// Exactly one of both has the connection: the one that was stopped has left it in the backlog.
inline void check_accepted(stop_place& at, int listener, bool has_one, bool acted) {
    const int left = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    EXPECT_EQ(left >= 0, acted && at.is_stopped);
    EXPECT_EQ(has_one, !at.is_stopped);
    if (left >= 0) close(left);
}
/// The other side of a connect that was met sees what became of it.
inline void check_met(stop_place& at) {
    if (at.client < 0) return;
    if (!at.is_stopped) {
        EXPECT_EQ(write(at.client, "ab", 2), 2);
        pollfd ready{at.got.native_handle(), POLLIN, 0};
        EXPECT_EQ(poll(&ready, 1, 10'000), 1);
        std::array<char, 3> two{};
        EXPECT_EQ(read(at.got.native_handle(), two.data(), two.size()), 2);
        return;
    }
    pollfd ended{at.client, POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 10'000), 1);
    char none = ' ';
    EXPECT_LE(read(at.client, &none, 1), 0);
}
inline void check_written(stopped_operation w, stop_place& at) {
    at.near.shutdown_send();
    at.local.first.shutdown_send();
    at.pipe.writer.close();
    if (w == stopped_operation::send || w == stopped_operation::send_batch)
        take_all(ends_of(w, at).reads, at);
    else
        take_to_the_end(ends_of(w, at).reads, at);
    const std::size_t sent = at.taken - at.prefilled;
    // A stop loses the count of what a write_all has moved.
    if (!at.is_stopped || !writes_all(w)) {
        EXPECT_EQ(sent, at.count);
    }
    EXPECT_EQ(at.taken_with, w == stopped_operation::send_descriptors && !at.is_stopped ? 1U : 0U);
}

/// Checks that what came is with the operation, or still there.
inline void check_read(stopped_operation w, stop_place& at, bool acted) {
    const bool only_waits = w == stopped_operation::wait_readable || w == stopped_operation::wait_readable_pipe;
    take_all(ends_of(w, at).reads, at);
    EXPECT_EQ(at.count, at.is_stopped || only_waits ? 0U : 2U);
    EXPECT_EQ(at.taken + at.count, acted ? 2U : 0U);
    EXPECT_TRUE(at.count == 0 || std::memcmp(at.two.data(), written_bytes().data(), 2) == 0);
    const std::size_t with = at.taken_with + (at.got_descriptors[0].is_open() ? 1 : 0);
    EXPECT_EQ(with, w == stopped_operation::receive_descriptors && acted ? 1U : 0U);
    EXPECT_FALSE(at.got_descriptors[1].is_open());
}

/// Nothing is lost, and nothing is done twice.
inline void check_nothing_is_lost(stopped_operation w, stop_phase when, stop_place& at) {
    const bool acted = when >= stop_phase::completed;
    switch (w) {
    case stopped_operation::accept: check_accepted(at, at.listener.native_handle(), at.got.is_open(), acted); break;
    case stopped_operation::accept_local:
        check_accepted(at, at.local_listener.native_handle(), at.got_local.is_open(), acted);
        break;
    case stopped_operation::connect:
        EXPECT_EQ(at.got.is_open(), !at.is_stopped);
        check_met(at);
        break;
    case stopped_operation::next_signal: EXPECT_EQ(at.count + at.left, acted ? 1U : 0U); break;
    case stopped_operation::wait_for_child:
        EXPECT_EQ(at.count, at.is_stopped ? 0U : 1U);
        EXPECT_EQ(at.left, acted ? 1U : 0U);  // the end is told again and again
        break;
    default:
        if (writes_all(w) || writes_some(w))
            check_written(w, at);
        else
            check_read(w, at, acted);
        break;
    }
    if (at.client >= 0) close(at.client);
    // On a busy machine the other side takes in what is on its way so late that a full socket has room after all.
    const bool is_tcp_write = w == stopped_operation::write_some || w == stopped_operation::write_some_of_two;
    EXPECT_TRUE(acted || at.is_stopped || (is_tcp_write && at.count != 0));
}

/// The subject of the calling test's failures.
inline testing::AssertionResult has_held(stopped_operation w, stop_phase when) {
    if (!testing::Test::HasFailure()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "operation " << static_cast<int>(w) << ", phase " << static_cast<int>(when);
}

}  // namespace coflux_test
