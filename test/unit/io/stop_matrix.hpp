// A stop of each operation of a stream, at each moment: what the matrix of stops is made of.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace coflux_test::stops {

using coflux::endpoint;
using coflux::tcp_listener;
using coflux::tcp_stream;

enum class what { read_some, read_exactly, write_some, write_all, accept, connect, wait_readable };
enum class phase { before_submit, pending, cancel_first, completed, target_first, at_once };
inline constexpr std::array all_operations{what::read_some, what::read_exactly, what::write_some,   what::write_all,
                                           what::accept,    what::connect,      what::wait_readable};
inline constexpr std::size_t in_one_write = 1000;

struct place {
    tcp_stream near;
    tcp_stream far;
    tcp_listener listener{endpoint::loopback(0)};
    tcp_listener full{endpoint::loopback(0), {.backlog = 0}};
    std::vector<tcp_stream> in_the_backlog;
    tcp_stream got;
    int client = -1;                        // a socket of the test's own
    std::size_t count = 0;                  // that the operation says it moved
    std::size_t prefilled = 0;              // bytes on their way to `far` before
    coflux::environment* inside = nullptr;  // published by begins
    std::atomic<bool> begins{false};
    bool is_stopped = false;
    // The worker that began the operation computes until it has ended, so that another one finds the event.
    bool is_left_to_a_thief = false;
    std::atomic<bool> has_ended{false};
    std::thread::id began_on;
    std::thread::id ended_on;
};

/// Sets it at the end of the operation, however that comes.
class end_of_operation {
public:
    explicit end_of_operation(place& at) noexcept : at_(at) {}
    end_of_operation(const end_of_operation&) = delete;
    end_of_operation& operator=(const end_of_operation&) = delete;
    ~end_of_operation() {
        at_.ended_on = std::this_thread::get_id();
        at_.has_ended.store(true);
    }

private:
    place& at_;
};

template <typename E>
coflux::fork<void, E> computes(coflux::environment&, place* at) {
    while (!at->has_ended.load()) coflux::detail::cpu_pause();
    co_return;
}

inline coflux::call<void> operates(coflux::environment&, what w, place* at) {
    std::array<std::byte, 2> two{};
    const std::vector<std::byte> much(w == what::write_all ? 8'000'000 : in_one_write);
    const end_of_operation end(*at);
    at->began_on = std::this_thread::get_id();
    at->begins.store(true);
    switch (w) {
    case what::read_some: at->count = co_await at->near.read_some(two); break;
    case what::read_exactly:
        co_await at->near.read_exactly(two);
        at->count = 2;
        break;
    case what::write_some: at->count = co_await at->near.write_some(much); break;
    case what::write_all:
        co_await at->near.write_all(much);
        at->count = much.size();
        break;
    case what::accept: at->got = co_await at->listener.accept(); break;
    case what::connect: at->got = co_await tcp_stream::connect(at->full.local_endpoint()); break;
    case what::wait_readable: co_await at->near.wait_readable(); break;
    }
}
template <typename E>
coflux::fork<void, E> does(coflux::environment&, what w, place* at) {
    auto&& here = co_await coflux::context();
    std::optional<coflux::fork<void, E>> beside;
    if (at->is_left_to_a_thief) beside.emplace(computes<E>(here, at));
    co_await operates(here, w, at);
    if (beside.has_value()) co_await std::move(*beside);
}
template <typename E>
coflux::task<void, E> is_stopped(coflux::environment&, what w, place* at) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    at->inside = &inside;
    auto operation = does<E>(inside, w, at);
    at->is_stopped = (co_await coflux::as_outcome(std::move(operation))).is_stopped();
    co_await inside.join();
}

template <typename E>
coflux::fork<void, E> connects(coflux::environment&, place* at) {
    at->in_the_backlog.push_back(co_await tcp_stream::connect(at->full.local_endpoint()));
}
template <typename E>
coflux::task<void, E> prepares(coflux::environment&, what w, place* at) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    at->near = std::move(pair.near);
    at->far = std::move(pair.far);
    while (w == what::connect && at->in_the_backlog.size() < 8 &&
           co_await coflux::timeout(connects<E>(here, at), std::chrono::milliseconds(20))) {}
}

inline std::size_t receive_all(int from) {
    std::vector<char> buffer(1'000'000);
    std::size_t all = 0;
    for (;;) {
        const ssize_t n = recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n <= 0) return all;
        all += static_cast<std::size_t>(n);
    }
}
inline void fill(place& at) {
    const std::array<char, 10'000> some{};
    for (;;) {
        const ssize_t n = send(at.near.native_handle(), some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0) return;
        at.prefilled += static_cast<std::size_t>(n);
    }
}

/// What ends the operation, by calls of this thread: it has happened when this returns. Returns the bytes that it took.
inline std::size_t act(what w, place& at) {
    switch (w) {
    case what::read_some:
    case what::wait_readable:
    case what::read_exactly: EXPECT_EQ(send(at.far.native_handle(), "ab", 2, 0), 2); break;
    case what::write_some:
    case what::write_all: return receive_all(at.far.native_handle());
    case what::accept: {
        const endpoint to = at.listener.local_endpoint();
        at.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(connect(at.client, static_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())), 0);
        break;
    }
    case what::connect: break;  // its peer would try again in a second
    }
    return 0;
}

/// Nothing is lost, and nothing is done twice.
inline void check(what w, phase when, place& at, std::size_t taken) {
    const bool acted = when == phase::completed || when == phase::target_first || when == phase::at_once;
    switch (w) {
    case what::read_some:
    case what::read_exactly:
    case what::wait_readable: EXPECT_EQ(receive_all(at.near.native_handle()) + at.count, acted ? 2U : 0U); break;
    case what::write_some:
        for (int looks = 0; looks < 1000 && taken < at.prefilled + at.count; ++looks, usleep(100))
            taken += receive_all(at.far.native_handle());
        usleep(1000);
        EXPECT_EQ(taken + receive_all(at.far.native_handle()), at.prefilled + at.count);
        break;
    case what::write_all:
        if (when != phase::at_once) {
            EXPECT_TRUE(at.is_stopped);
        }
        // While its other side is read it may have come to its end.
        for (int looks = 0; looks < 1000 && !at.is_stopped && taken < at.count; ++looks, usleep(100))
            taken += receive_all(at.far.native_handle());
        if (!at.is_stopped) {
            EXPECT_EQ(taken, at.count);
        }
        break;
    case what::accept: {
        const int left = accept4(at.listener.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        EXPECT_EQ(left >= 0, acted && at.is_stopped);
        EXPECT_EQ(at.got.is_open(), !at.is_stopped);
        if (left >= 0) close(left);
        if (at.client >= 0) close(at.client);
        break;
    }
    case what::connect: EXPECT_TRUE(at.is_stopped); break;
    }
    if (!acted) {
        EXPECT_TRUE(at.is_stopped);
    }
    // What has ended counts, though a stop was requested before the loop has looked.
    if (acted && when != phase::at_once && w != what::connect && w != what::write_all &&
        coflux::io_backend_in_use().backend == coflux::io_backend::uring) {
        EXPECT_FALSE(at.is_stopped);
    }
}

}  // namespace coflux_test::stops
