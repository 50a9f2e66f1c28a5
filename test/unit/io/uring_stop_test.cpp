// What a stop does in each phase of an operation that the system makes: not submitted yet, under way, ended and not
// looked at. On a run_loop, whose steps a test takes one by one.
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using coflux::endpoint;
using coflux::run_loop;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::connected;
using coflux_test::open_descriptors;

enum class what { read_some, read_exactly, write_some, write_all, accept, connect, wait_readable };
enum class phase { before_submit, pending, cancel_first, completed, target_first };
constexpr std::array all_operations{what::read_some, what::read_exactly, what::write_some,   what::write_all,
                                    what::accept,    what::connect,      what::wait_readable};
constexpr std::array all_phases{phase::before_submit, phase::pending, phase::cancel_first, phase::completed,
                                phase::target_first};
constexpr std::size_t in_one_write = 1000;

struct place {
    tcp_stream near;
    tcp_stream far;
    tcp_listener listener{endpoint::loopback(0)};
    tcp_listener full{endpoint::loopback(0), {.backlog = 0}};
    std::vector<tcp_stream> in_the_backlog;
    tcp_stream got;
    int client = -1;            // a socket of the test's own
    std::size_t count = 0;      // that the operation says it moved
    std::size_t prefilled = 0;  // bytes on their way to `far` before
    coflux::environment* inside = nullptr;
    bool begins = false;
    bool is_stopped = false;
};

coflux::fork<void, run_loop> does(coflux::environment&, what w, place* at) {
    std::array<std::byte, 2> two{};
    const std::vector<std::byte> much(w == what::write_all ? 8'000'000 : in_one_write);
    at->begins = true;
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
coflux::task<void, run_loop> is_stopped(coflux::environment&, what w, place* at) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    at->inside = &inside;
    auto operation = does(inside, w, at);
    at->is_stopped = (co_await coflux::as_outcome(std::move(operation))).is_stopped();
    co_await inside.join();
}

coflux::fork<void, run_loop> connects(coflux::environment&, place* at) {
    at->in_the_backlog.push_back(co_await tcp_stream::connect(at->full.local_endpoint()));
}
coflux::task<void, run_loop> prepares(coflux::environment&, what w, place* at) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    at->near = std::move(pair.near);
    at->far = std::move(pair.far);
    while (w == what::connect && at->in_the_backlog.size() < 8 &&
           co_await coflux::timeout(connects(here, at), std::chrono::milliseconds(20))) {}
}

std::size_t receive_all(int from) {
    std::vector<char> buffer(1'000'000);
    std::size_t all = 0;
    for (;;) {
        const ssize_t n = recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n <= 0) return all;
        all += static_cast<std::size_t>(n);
    }
}
void fill(place& at) {
    const std::array<char, 10'000> some{};
    for (;;) {
        const ssize_t n = send(at.near.native_handle(), some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0) return;
        at.prefilled += static_cast<std::size_t>(n);
    }
}

/// What ends the operation, by calls of this thread: it has happened when this returns. Returns the bytes that it took.
std::size_t act(what w, place& at) {
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
void check(what w, phase when, place& at, std::size_t taken) {
    const bool acted = when == phase::completed || when == phase::target_first;
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
    case what::write_all: EXPECT_TRUE(at.is_stopped); break;
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
    if (acted && w != what::connect && w != what::write_all &&
        coflux::io_backend_in_use().backend == coflux::io_backend::uring) {
        EXPECT_FALSE(at.is_stopped);
    }
}

void stop_in(what w, phase when) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    place at;
    loop.run(prepares(env, w, &at));
    if (w == what::write_some) fill(at);
    auto root = is_stopped(env, w, &at);
    while (!at.begins) (void)loop.poll_one();
    // Twice: what was not tried, because the round of one step was over, is tried first.
    for (int looks = 0; looks < 2 && when != phase::before_submit; ++looks) (void)loop.poll();
    std::size_t taken = 0;
    if (when == phase::completed) taken = act(w, at);
    at.inside->request_stop();
    if (when == phase::cancel_first) (void)loop.poll();
    if (when == phase::target_first) taken = act(w, at);
    loop.run(std::move(root));
    check(w, when, at, taken);
}

TEST(uring_stop, loses_nothing_in_any_phase_of_any_operation) {
    stop_in(what::read_some, phase::pending);
    const std::size_t before = open_descriptors();
    for (const what w : all_operations) {
        for (const phase when : all_phases) {
            stop_in(w, when);
            EXPECT_FALSE(testing::Test::HasFailure())
                << "operation " << static_cast<int>(w) << ", phase " << static_cast<int>(when);
            if (testing::Test::HasFailure()) return;
        }
    }
    EXPECT_EQ(open_descriptors(), before);
}

using worker = coflux::worker_executor;
using pool = coflux::thread_pool_executor;

template <typename E>
coflux::fork<void, E> counts(coflux::environment&, tcp_stream* from, std::size_t* got) {
    std::array<std::byte, 7> some{};
    while (const std::size_t n = co_await from->read_some(some)) *got += n;
}
constexpr std::size_t in_one_message = 13;
template <typename E>
coflux::fork<void, E> sends(coflux::environment&, tcp_stream* to, int messages) {
    const std::string text(in_one_message, 'x');
    for (int i = 0; i < messages; ++i) {
        co_await to->write_all(text);
        if (i % 5 == 0) co_await coflux::this_coroutine::yield();
    }
    to->shutdown_send();
}
/// The stops come from another executor, at all times.
template <typename E>
coflux::task<std::size_t, pool> counts_between_stops(coflux::environment&, int messages) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::size_t got = 0;
    auto sender = sends<E>(here, &p.far, messages);
    for (int stops = 0, ended = 0; ended == 0; ++stops) {
        auto inside = coflux::make_environment(here);
        auto reader = counts<E>(inside, &p.near, &got);
        for (int y = 0; y < stops % 40; ++y) co_await coflux::this_coroutine::yield();
        inside.request_stop();
        const auto how = co_await coflux::as_outcome(std::move(reader));
        ended = how.is_stopped() ? 0 : 1;
        co_await inside.join();
    }
    co_await std::move(sender);
    co_return got;
}

TEST(uring_stop, of_a_reader_again_and_again_loses_no_byte_on_a_worker) {
    pool stopper{1};
    worker on;
    auto env = coflux::make_environment(stopper, on);
    EXPECT_EQ(counts_between_stops<worker>(env, 3000).get(), 3000 * in_one_message);
}
TEST(uring_stop, of_a_reader_again_and_again_loses_no_byte_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    EXPECT_EQ(counts_between_stops<pool>(env, 3000).get(), 3000 * in_one_message);
}

coflux::fork<void, worker> connects_to(coflux::environment&, endpoint to) {
    (void)co_await tcp_stream::connect(to);
}
coflux::fork<void, worker> reads_one(coflux::environment&, tcp_stream* from) {
    std::byte one{};
    (void)co_await from->read_some(std::span(&one, 1));
}
coflux::task<std::size_t, worker> stops_many(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    tcp_listener full(endpoint::loopback(0), {.backlog = 0});
    std::vector<tcp_stream> in_the_backlog;
    for (int i = 0; i < 8; ++i) {
        auto one = co_await coflux::timeout(tcp_stream::connect(full.local_endpoint()), std::chrono::milliseconds(20));
        if (!one.has_value()) break;
        in_the_backlog.push_back(std::move(*one));
    }
    auto p = co_await connected(here);
    std::size_t stopped = 0;
    for (int i = 0; i < times; ++i) {
        auto inside = coflux::make_environment(here);
        auto connect = connects_to(inside, full.local_endpoint());
        auto read = reads_one(inside, &p.near);
        for (int y = 0; y < i % 3; ++y) co_await coflux::this_coroutine::yield();
        inside.request_stop();
        stopped += (co_await coflux::as_outcome(std::move(connect))).is_stopped() ? 1 : 0;
        stopped += (co_await coflux::as_outcome(std::move(read))).is_stopped() ? 1 : 0;
        co_await inside.join();
    }
    co_return stopped;
}

TEST(uring_stop, of_ten_thousand_connects_leaves_no_descriptor) {
    worker on;
    auto env = coflux::make_environment(on);
    (void)stops_many(env, 1).get();
    const std::size_t before = open_descriptors();
    EXPECT_EQ(stops_many(env, 10'000).get(), 20'000U);
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
