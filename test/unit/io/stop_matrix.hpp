// The operations that a stop is tried on, what ends each of them, and what must hold afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace coflux_test {

enum class stopped_operation {
    read_some,
    read_exactly,
    read_into_two,  ///< buffers
    write_some,
    write_all,
    accept,
    connect,
    wait_readable,
    read_local,  ///< of a local stream
    read_pipe,
    write_pipe,
    receive,
    receive_from,
    receive_batch,
    send  ///< a local datagram
};
inline constexpr std::array all_stopped_operations{
    stopped_operation::read_some,    stopped_operation::read_exactly,  stopped_operation::read_into_two,
    stopped_operation::write_some,   stopped_operation::write_all,     stopped_operation::accept,
    stopped_operation::connect,      stopped_operation::wait_readable, stopped_operation::read_local,
    stopped_operation::read_pipe,    stopped_operation::write_pipe,    stopped_operation::receive,
    stopped_operation::receive_from, stopped_operation::receive_batch, stopped_operation::send};

/// When the stop comes.
enum class stop_phase {
    before_submit,  ///< the operation waits, and the system knows nothing of it
    pending,        ///< the system does
    cancel_first,   ///< the same, and what the stop does has been done before the loop goes on
    completed,      ///< what ends it has come, and no thread has looked
    target_first,   ///< before what ends it, and no thread looks in between
    reaped          ///< another thread has found it ended, and its coroutine does not run yet
};
/// Without what needs another thread.
inline constexpr std::array all_stop_phases{stop_phase::before_submit, stop_phase::pending, stop_phase::cancel_first,
                                            stop_phase::completed, stop_phase::target_first};

/// What the operations are done with.
struct stop_place {
    coflux::tcp_stream near;
    coflux::tcp_stream far;
    coflux::tcp_listener listener{own_loopback()};
    coflux::tcp_listener full{own_loopback(), {.backlog = 0}};
    std::vector<coflux::tcp_stream> in_the_backlog;
    coflux::tcp_stream got;
    std::pair<coflux::unix_stream, coflux::unix_stream> local = coflux::unix_stream::pair();
    coflux::pipe_ends pipe = coflux::make_pipe();
    std::pair<coflux::unix_datagram, coflux::unix_datagram> datagrams = coflux::unix_datagram::pair();
    coflux::endpoint connects_to = full.local_endpoint();
    int client = -1;            // a socket of the test's own
    std::size_t count = 0;      // that the operation says it moved
    std::size_t prefilled = 0;  // bytes on their way before
    coflux::environment* inside = nullptr;
    bool begins = false;
    bool is_stopped = false;
    std::thread::id ended_on;
    std::atomic<bool> has_ended{false};  // in whatever way; ended_on is written before
};

inline coflux::call<std::size_t> receives_batch(coflux::environment&, coflux::unix_datagram* from) {
    std::array<std::byte, 4> bytes{};
    std::array<coflux::incoming_datagram, 2> into;
    into[0].into = std::span(bytes).first(2);
    into[1].into = std::span(bytes).last(2);
    std::size_t all = 0;
    const std::size_t got = co_await from->receive_batch(into);
    for (std::size_t i = 0; i < got; ++i) all += into[i].got.size;
    co_return all;
}

template <typename E>
coflux::fork<void, E> does(coflux::environment&, stopped_operation w, stop_place* at) {
    struct notes_end {
        stop_place* of;
        ~notes_end() {
            of->ended_on = std::this_thread::get_id();
            of->has_ended = true;
        }
    };
    const notes_end ends{at};
    std::array<std::byte, 2> two{};
    const std::array parts{std::span(two).first(1), std::span(two).last(1)};
    const std::vector<std::byte> much(w == stopped_operation::write_all ? 8'000'000 : 1000);
    at->begins = true;
    switch (w) {
    case stopped_operation::read_some: at->count = co_await at->near.read_some(two); break;
    case stopped_operation::read_exactly:
        co_await at->near.read_exactly(two);
        at->count = 2;
        break;
    case stopped_operation::read_into_two: at->count = co_await at->near.read_some(parts); break;
    case stopped_operation::write_some: at->count = co_await at->near.write_some(much); break;
    case stopped_operation::write_all:
        co_await at->near.write_all(much);
        at->count = much.size();
        break;
    case stopped_operation::accept: at->got = co_await at->listener.accept(); break;
    case stopped_operation::connect: at->got = co_await coflux::tcp_stream::connect(at->connects_to); break;
    case stopped_operation::wait_readable: co_await at->near.wait_readable(); break;
    case stopped_operation::read_local: at->count = co_await at->local.first.read_some(two); break;
    case stopped_operation::read_pipe: at->count = co_await at->pipe.reader.read_some(two); break;
    case stopped_operation::write_pipe: at->count = co_await at->pipe.writer.write_some(much); break;
    case stopped_operation::receive: at->count = co_await at->datagrams.first.receive(two); break;
    case stopped_operation::receive_from: {
        const coflux::datagram got = co_await at->datagrams.first.receive_from(two);
        at->count = got.size;
        break;
    }
    case stopped_operation::receive_batch: {
        auto&& here = co_await coflux::context();
        at->count = co_await receives_batch(here, &at->datagrams.first);
        break;
    }
    case stopped_operation::send:
        co_await at->datagrams.first.send(std::span<const std::byte>(two).first(1));
        at->count = 1;
        break;
    }
}

/// Where it reads from, or what its peer reads from.
inline int reading_end(stopped_operation w, const stop_place& at) {
    switch (w) {
    case stopped_operation::write_some:
    case stopped_operation::write_all: return at.far.native_handle();
    case stopped_operation::read_local: return at.local.first.native_handle();
    case stopped_operation::read_pipe:
    case stopped_operation::write_pipe: return at.pipe.reader.native_handle();
    case stopped_operation::receive:
    case stopped_operation::receive_from:
    case stopped_operation::receive_batch: return at.datagrams.first.native_handle();
    case stopped_operation::send: return at.datagrams.second.native_handle();
    default: return at.near.native_handle();
    }
}
/// Where it writes to, or what its peer writes to.
inline int writing_end(stopped_operation w, const stop_place& at) {
    switch (w) {
    case stopped_operation::read_local: return at.local.second.native_handle();
    case stopped_operation::read_pipe:
    case stopped_operation::write_pipe: return at.pipe.writer.native_handle();
    case stopped_operation::receive:
    case stopped_operation::receive_from:
    case stopped_operation::receive_batch: return at.datagrams.second.native_handle();
    case stopped_operation::send: return at.datagrams.first.native_handle();
    case stopped_operation::write_some:
    case stopped_operation::write_all: return at.near.native_handle();
    default: return at.far.native_handle();
    }
}

template <typename E>
coflux::fork<void, E> connects_into_backlog(coflux::environment&, stop_place* at) {
    at->in_the_backlog.push_back(co_await coflux::tcp_stream::connect(at->full.local_endpoint()));
}
/// From now on each operation waits.
template <typename E>
coflux::fork<void, E> prepares_to_wait(coflux::environment&, stopped_operation w, stop_place* at) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    at->near = std::move(pair.near);
    at->far = std::move(pair.far);
    while (w == stopped_operation::connect && at->in_the_backlog.size() < 8 &&
           co_await coflux::timeout(connects_into_backlog<E>(here, at), std::chrono::milliseconds(20))) {}
    const std::array<char, 10'000> some{};
    const bool fills =
        w == stopped_operation::write_some || w == stopped_operation::write_pipe || w == stopped_operation::send;
    const std::size_t at_once = w == stopped_operation::send ? 1 : some.size();
    // The other side takes in what is on its way later, so that a full socket has room again.
    for (int full = 0; fills && full < 5;) {
        const ssize_t n = write(writing_end(w, *at), some.data(), at_once);
        if (n > 0) at->prefilled += static_cast<std::size_t>(n);
        full = n > 0 ? 0 : full + 1;
        if (n <= 0) usleep(1000);
    }
}

inline std::size_t receive_all(int from) {
    std::vector<char> buffer(1'000'000);
    std::size_t all = 0;
    for (;;) {
        const ssize_t n = read(from, buffer.data(), buffer.size());
        if (n <= 0) return all;
        all += static_cast<std::size_t>(n);
    }
}

/// What ends the operation, by calls of this thread: it has happened when this returns. Returns the bytes that it took.
inline std::size_t act(stopped_operation w, stop_place& at) {
    switch (w) {
    case stopped_operation::write_some:
    case stopped_operation::write_all:
    case stopped_operation::write_pipe:
    case stopped_operation::send: return receive_all(reading_end(w, at));
    case stopped_operation::accept: {
        const coflux::endpoint to = at.listener.local_endpoint();
        at.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(connect(at.client, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())), 0);
        break;
    }
    case stopped_operation::connect: break;  // its peer would try again in a second
    default: EXPECT_EQ(write(writing_end(w, at), "ab", 2), 2); break;
    }
    return 0;
}

/// Nothing is lost, and nothing is done twice.
inline void check_nothing_is_lost(stopped_operation w, stop_phase when, stop_place& at, std::size_t taken) {
    const bool acted = when >= stop_phase::completed;
    switch (w) {
    default: EXPECT_EQ(receive_all(reading_end(w, at)) + at.count, acted ? 2U : 0U); break;
    case stopped_operation::write_all:
        // What was taken may have made room for all the rest, and the system may have used it before the stop.
        EXPECT_TRUE(at.is_stopped || acted);
        if (at.is_stopped) break;
        [[fallthrough]];
    case stopped_operation::write_some:
    case stopped_operation::write_pipe:
    case stopped_operation::send:
        for (int looks = 0; looks < 1000 && taken < at.prefilled + at.count; ++looks, usleep(100))
            taken += receive_all(reading_end(w, at));
        usleep(1000);
        EXPECT_EQ(taken + receive_all(reading_end(w, at)), at.prefilled + at.count);
        break;
    case stopped_operation::accept: {
        const int left = accept4(at.listener.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        EXPECT_EQ(left >= 0, acted && at.is_stopped);
        EXPECT_EQ(at.got.is_open(), !at.is_stopped);
        if (left >= 0) close(left);
        if (at.client >= 0) close(at.client);
        break;
    }
    case stopped_operation::connect:
        EXPECT_TRUE(at.is_stopped || when == stop_phase::reaped);
        EXPECT_EQ(at.got.is_open(), !at.is_stopped);
        break;
    }
    if (!acted) {
        // On a busy machine the other side takes in what is on its way so late that a full socket has room after all.
        const bool had_room = w == stopped_operation::write_some && at.count != 0;
        EXPECT_TRUE(at.is_stopped || had_room);
    }
}

/// What the failures of the calling test are about.
inline testing::AssertionResult has_held(stopped_operation w, stop_phase when) {
    if (!testing::Test::HasFailure()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "operation " << static_cast<int>(w) << ", phase " << static_cast<int>(when);
}

}  // namespace coflux_test
