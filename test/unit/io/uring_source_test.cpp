// The ring itself, and what its source does where more comes than fits, or another thread.
#include "../../../src/io/uring/ring.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using coflux::endpoint;
using coflux::run_loop;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::detail::ring;
using coflux::detail::ring_rung;
using coflux_test::connected;
using worker = coflux::worker_executor;

bool has_rings() {
    return ring::probe(ring_rung::deferred).error == 0;
}
bool uses_rings() {
    return coflux::io_backend_in_use().backend == coflux::io_backend::uring;
}

TEST(uring_ring, keeps_completions_that_do_not_fit_its_queue) {
    if (!has_rings()) GTEST_SKIP() << "the system refuses io_uring";
    for (const ring_rung rung : {ring_rung::deferred, ring_rung::cooperative, ring_rung::plain}) {
        ring r;
        if (r.open(rung).error != 0) continue;  // of an old kernel
        ASSERT_EQ(r.enable(), 0);
        constexpr unsigned all = 6000;
        for (unsigned sent = 0; sent < all;) {
            while (sent < all && !r.is_full()) {
                io_uring_sqe& s = r.next();
                s.opcode = IORING_OP_NOP;
                s.user_data = sent++;
            }
            ASSERT_TRUE(r.is_full() || sent == all);
            (void)r.enter(0);
            ASSERT_EQ(r.unsubmitted(), 0U);
        }
        EXPECT_TRUE(r.must_enter());
        std::set<std::uint64_t> names;
        for (int looks = 0; looks < 100 && names.size() < all; ++looks) {
            const unsigned n = r.completed();
            for (unsigned i = 0; i < n; ++i) names.insert(r.completion(i).user_data);
            r.take(n);
            (void)r.enter(0);
        }
        EXPECT_EQ(names.size(), all);
    }
}

TEST(uring_ring, goes_down_the_ladder_from_where_it_is_told) {
    if (!has_rings()) GTEST_SKIP() << "the system refuses io_uring";
    EXPECT_EQ(ring::probe(ring_rung::plain).rung, ring_rung::plain);
    EXPECT_EQ(ring::probe(ring_rung::plain).error, 0);
}

coflux::fork<std::size_t, worker> reads(coflux::environment&, tcp_stream* from) {
    std::array<std::byte, 8> some{};
    co_await from->read_exactly(some);
    co_return some.size();
}
coflux::task<std::size_t, worker> reads_many_at_once(coflux::environment&, std::size_t many) {
    auto&& here = co_await coflux::context();
    std::vector<coflux_test::stream_pair> pairs;
    std::vector<coflux::fork<std::size_t, worker>> readers;
    for (std::size_t i = 0; i < many; ++i) pairs.push_back(co_await connected(here));
    for (auto& p : pairs) readers.push_back(reads(here, &p.near));
    co_await coflux::this_coroutine::yield();
    std::size_t got = 0;
    for (int half = 0; half < 2; ++half) {
        for (auto& p : pairs) co_await p.far.write_all("half");
    }
    for (auto& r : readers) got += co_await std::move(r);
    co_return got;
}

TEST(uring_source, submits_more_at_once_than_its_queue_holds) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2000) GTEST_SKIP() << "too few descriptors";
    worker on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(reads_many_at_once(env, 600).get(), 600U * 8);
}

coflux::fork<void, worker> never_sleeps(coflux::environment&, const bool* ends) {
    while (!*ends) co_await coflux::this_coroutine::yield();
}
coflux::task<std::size_t, worker> reads_beside_yields(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    bool ends = false;
    auto reader = reads(here, &p.near);
    auto busy = never_sleeps(here, &ends);
    co_await coflux::this_coroutine::yield();
    std::thread peer([to = p.far.native_handle()] { EXPECT_EQ(send(to, "by a peer", 8, 0), 8); });
    const std::size_t got = co_await std::move(reader);
    ends = true;
    co_await std::move(busy);
    peer.join();
    co_return got;
}
TEST(uring_source, hands_out_what_has_come_to_a_worker_that_never_sleeps) {
    worker on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(reads_beside_yields(env).get(), 8U);
}

// Each is tried, and goes on; tcp_rules_connect has those that are submitted.
coflux::task<int, worker> connects_in_a_row(coflux::environment&, int times) {
    tcp_listener listener(endpoint::loopback(0), {.backlog = 1000});
    std::vector<tcp_stream> near;
    for (int i = 0; i < times; ++i) near.push_back(co_await tcp_stream::connect(listener.local_endpoint()));
    int right = 0;
    for (tcp_stream& s : near) {
        const tcp_stream far = co_await listener.accept();
        right += far.peer_endpoint() == s.local_endpoint() ? 1 : 0;
    }
    co_return right;
}
TEST(uring_source, makes_many_connections_in_a_row) {
    worker on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(connects_in_a_row(env, 300).get(), 300);
}
coflux::task<std::error_code, worker> is_refused_at_last(coflux::environment&, int times) {
    // Bound, so that no connection gets the port as its own, and listened at by no socket.
    const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    endpoint nobody = endpoint::loopback(0);
    auto size = static_cast<socklen_t>(nobody.size());
    auto* const name = static_cast<sockaddr*>(nobody.data());
    if (bind(bound, name, size) != 0 || getsockname(bound, name, &size) != 0) co_return std::error_code();
    std::error_code error;
    for (int i = 0; i < times; ++i) {
        error = (co_await coflux::as_result(tcp_stream::connect(nobody))).error();
        if (error != std::errc::connection_refused) break;
    }
    close(bound);
    co_return error;
}
TEST(uring_source, is_told_of_many_refused_connections_in_a_row) {
    worker on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(is_refused_at_last(env, 200).get(), std::errc::connection_refused);
}

// --- threads ---------------------------------------------------------------------------------------------------------

coflux::task<std::size_t, run_loop> reads_on_a_loop(coflux::environment&, tcp_stream* from) {
    std::array<std::byte, 2> two{};
    co_await from->read_exactly(two);
    co_return two.size();
}
coflux::task<coflux_test::stream_pair, run_loop> makes_a_pair(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await connected(here);
}

TEST(uring_source, goes_on_when_the_thread_that_submitted_has_ended) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto pair = loop.run(makes_a_pair(env));
    auto reader = reads_on_a_loop(env, &pair.near);
    std::thread([&loop] { (void)loop.poll(); }).join();
    std::thread([&loop] { (void)loop.poll(); }).join();
    EXPECT_FALSE(reader.done());
    EXPECT_EQ(send(pair.far.native_handle(), "a", 1, 0), 1);
    std::thread([&loop] { (void)loop.poll(); }).join();
    EXPECT_EQ(send(pair.far.native_handle(), "b", 1, 0), 1);
    EXPECT_EQ(loop.run(std::move(reader)), 2U);
}

coflux::task<tcp_stream, worker> waits_once(coflux::environment&, endpoint to) {
    tcp_stream s = co_await tcp_stream::connect(to);
    std::byte one{};
    (void)co_await coflux::timeout(s.read_some(std::span(&one, 1)), std::chrono::milliseconds(1));
    co_return s;
}
TEST(uring_source, may_end_on_another_thread_with_its_last_descriptor) {
    const std::size_t before = coflux_test::open_descriptors();
    {
        const tcp_listener listener(endpoint::loopback(0));
        tcp_stream left;
        {
            worker on;
            auto env = coflux::make_environment(on);
            left = waits_once(env, listener.local_endpoint()).get();
        }
        EXPECT_TRUE(left.is_open());
    }
    EXPECT_LE(coflux_test::open_descriptors(), before);
}

// --- the poll of the wakers, one request for many events -------------------------------------------------------------

/// How many polls are under way in the rings of this process, or nothing where the system does not list them.
std::optional<std::size_t> polls_under_way() {
    std::optional<std::size_t> polls;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (std::filesystem::read_symlink(entry, ignored) != "anon_inode:[io_uring]") continue;
        std::ifstream of("/proc/self/fdinfo/" + entry.path().filename().string());
        for (std::string line; std::getline(of, line);) {
            if (line.starts_with("PollList:") && !polls) polls = 0;
            if (polls && line.find("op=" + std::to_string(IORING_OP_POLL_ADD) + ',') != std::string::npos) ++*polls;
        }
    }
    return polls;
}
/// Where there are rings.
void expect_polls(std::size_t count) {
    if (!uses_rings()) return;
    EXPECT_EQ(polls_under_way().value_or(count), count);
}
/// Another thread of the system may end what a thread that is gone submitted.
void until_polls(std::size_t count) {
    for (int i = 0; i < 5'000 && uses_rings() && polls_under_way().value_or(count) != count; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_polls(count);
}

coflux::task<void, run_loop> waits_for(coflux::environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}
/// The loop sleeps in its ring, or is about to: something waits there.
void is_woken_by_another_thread(run_loop& loop, coflux::environment& env) {
    for (int i = 0; i < 5; ++i) {
        coflux::manual_reset_event event;
        auto waiter = waits_for(env, &event);
        std::thread waker([&event] {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            event.set();
        });
        loop.run(std::move(waiter));
        waker.join();
    }
}

/// Also the one that a waker of this loop writes to.
void write_to_each_eventfd() {
    const std::uint64_t one = 1;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (std::filesystem::read_symlink(entry, ignored) != "anon_inode:[eventfd]") continue;
        EXPECT_EQ(write(std::stoi(entry.path().filename()), &one, sizeof one), 8);
    }
}
coflux::task<void, run_loop> reads_last(coflux::environment&, coflux::unix_stream* from) {
    std::byte one{};
    (void)co_await from->read_some(std::span(&one, 1));
}
TEST(uring_source, is_woken_when_the_thread_that_submitted_its_poll_of_wakers_has_ended) {
    for (int i = 0; i < 3; ++i) {
        auto [near, far] = coflux::unix_stream::pair();
        const std::size_t others = polls_under_way().value_or(0);
        run_loop loop;
        auto env = coflux::make_environment(loop);
        auto reader = reads_last(env, &near);
        std::thread([&] {
            (void)loop.poll();
            expect_polls(others + 1);
        }).join();
        write_to_each_eventfd();  // with the first event after its thread the poll ends
        until_polls(others);
        is_woken_by_another_thread(loop, env);
        EXPECT_EQ(send(far.native_handle(), "x", 1, 0), 1);
        loop.run(std::move(reader));
    }
}

coflux::fork<void, run_loop> reads_a_byte(coflux::environment&, coflux::unix_stream* from, std::size_t* begun) {
    std::byte one{};
    ++*begun;
    (void)co_await from->read_some(std::span(&one, 1));
}
/// More of them end than the queue of completions has room for, and then a wake-up comes: the system has no place to
/// tell of it but the list of what does not fit, and ends the poll.
coflux::task<void, run_loop> has_more_than_fits(coflux::environment&, std::size_t pairs, std::size_t others) {
    auto&& here = co_await coflux::context();
    std::vector<std::pair<coflux::unix_stream, coflux::unix_stream>> all;
    std::vector<coflux::fork<void, run_loop>> readers;
    std::size_t begun = 0;
    for (std::size_t i = 0; i < pairs; ++i) all.push_back(coflux::unix_stream::pair());
    for (auto& [near, far] : all) {
        readers.push_back(reads_a_byte(here, &near, &begun));
        readers.push_back(reads_a_byte(here, &far, &begun));
    }
    while (begun != readers.size()) co_await coflux::this_coroutine::yield();
    {
        // Operations that wait behind them have been submitted after them.
        auto [near, far] = coflux::unix_stream::pair();
        auto last = reads_a_byte(here, &near, &begun);
        while (begun != readers.size() + 1) co_await coflux::this_coroutine::yield();
        EXPECT_EQ(send(far.native_handle(), "x", 1, 0), 1);
        co_await std::move(last);
    }
    for (auto& [near, far] : all) {
        EXPECT_EQ(send(near.native_handle(), "x", 1, 0), 1);
        EXPECT_EQ(send(far.native_handle(), "x", 1, 0), 1);
    }
    expect_polls(others + 1);
    write_to_each_eventfd();
    until_polls(others);
    for (auto& r : readers) co_await std::move(r);
}

TEST(uring_source, is_woken_after_its_poll_of_wakers_had_no_room_for_a_completion) {
    constexpr std::size_t pairs = 1100;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * pairs + 100) GTEST_SKIP() << "too few descriptors";
    auto [near, far] = coflux::unix_stream::pair();
    const std::size_t others = polls_under_way().value_or(0);
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto reader = reads_last(env, &near);
    for (int i = 0; i < 2; ++i) {
        loop.run(has_more_than_fits(env, pairs, others));
        is_woken_by_another_thread(loop, env);
    }
    EXPECT_EQ(send(far.native_handle(), "x", 1, 0), 1);
    loop.run(std::move(reader));
}

// --- fork() ----------------------------------------------------------------------------------------------------------

[[noreturn]] void end_as(pid_t child) {
    int how = 0;
    waitpid(child, &how, 0);
    if (WIFSIGNALED(how)) std::abort();
    std::_Exit(WEXITSTATUS(how));
}
coflux::task<void, run_loop> reads_in_a_child(coflux::environment&, coflux::tcp_stream* from) {
    const pid_t child = fork();
    if (child != 0) end_as(child);
    std::string one(1, ' ');
    (void)co_await from->read_some(coflux_test::bytes_of(one));
}
[[noreturn]] void looks_in_a_child() {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto pair = loop.run(makes_a_pair(env));
    loop.run(reads_in_a_child(env, &pair.near));
    std::_Exit(1);
}
[[noreturn]] void makes_its_own_in_a_child() {
    run_loop before;
    {
        auto env = coflux::make_environment(before);
        auto pair = before.run(makes_a_pair(env));
        auto reader = reads_on_a_loop(env, &pair.near);
        (void)before.poll();
        EXPECT_EQ(send(pair.far.native_handle(), "ab", 2, 0), 2);
        (void)before.run(std::move(reader));
    }
    const pid_t child = fork();
    if (child != 0) end_as(child);
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto pair = loop.run(makes_a_pair(env));
    auto reader = reads_on_a_loop(env, &pair.near);
    (void)loop.poll();
    if (send(pair.far.native_handle(), "ab", 2, 0) != 2) std::_Exit(1);
    std::_Exit(loop.run(std::move(reader)) == 2 ? 7 : 1);
}

class uring_death : public testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (!uses_rings()) GTEST_SKIP() << "this process uses epoll";
    }
};
TEST_F(uring_death, the_ring_of_a_parent_is_not_used_in_its_child) {
    EXPECT_DEATH(looks_in_a_child(), "in the child of a fork.., on a loop that did so before");
}
TEST_F(uring_death, a_child_has_a_ring_of_its_own) {
    EXPECT_EXIT(makes_its_own_in_a_child(), testing::ExitedWithCode(7), "");
}

}  // namespace
