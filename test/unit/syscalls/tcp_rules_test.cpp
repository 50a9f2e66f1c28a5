// Rare answers of the system to each call of a socket, and the results of operations.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/iterations.hpp"
#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::system_call;
using coflux_test::system_rules;
using worker = coflux::worker_executor;

template <typename... Args>
using program = coflux::task<void, worker>(environment&, Args...);
template <typename... Args>
void on_a_worker(program<Args...>& f, Args... args) {
    worker on;
    auto env = coflux::make_environment(on);
    f(env, args...).get();
}

constexpr std::string_view text = "a text of thirty bytes, or so.";
static_assert(text.size() == 30);

coflux::task<void, worker> moves_all(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    for (std::size_t k = 1; k <= text.size(); ++k) {
        std::string got(text.size(), ' ');
        const system_rules rules{{.on = system_call::send, .moves = k}, {.on = system_call::receive, .moves = k}};
        co_await p.near.write_all(text);
        co_await p.far.read_exactly(bytes_of(got));
        EXPECT_EQ(got, text) << k;
        EXPECT_EQ(rules.followed(), 2U);
    }
    for (const std::size_t k : {1, 2, 7, 29}) {
        std::string got(text.size(), ' ');
        const system_rules rules{{.on = system_call::send, .times = always, .moves = k},
                                 {.on = system_call::receive, .times = always, .moves = k}};
        co_await p.near.write_all(text);
        co_await p.far.read_exactly(bytes_of(got));
        EXPECT_EQ(got, text) << k;
        EXPECT_EQ(rules.calls(system_call::send), (text.size() + k - 1) / k);
    }
}
TEST(tcp_rules, moves_all_bytes_however_short_each_call_is) {
    on_a_worker(moves_all);
}

coflux::task<void, worker> tells_how_many(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string got(text.size(), ' ');
    const system_rules rules{{.on = system_call::send, .moves = 7}, {.on = system_call::receive, .moves = 3}};
    EXPECT_EQ(co_await p.near.write_some(text), 7U);
    EXPECT_EQ(co_await p.far.read_some(bytes_of(got)), 3U);
    EXPECT_EQ(co_await p.far.read_some(bytes_of(got)), 4U);
}
TEST(tcp_rules, tells_how_many_bytes_a_short_call_has_moved) {
    on_a_worker(tells_how_many);
}

/// It waits for each message, and has room for more.
coflux::task<void, worker> reads_ten_messages(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const system_rules rules{};
    int has_read = 0;
    const auto reads = [](coflux::environment&, tcp_stream* from, int* count) -> coflux::fork<void, worker> {
        std::string got(2 * text.size(), ' ');
        for (; *count < 10; ++*count) EXPECT_EQ(co_await from->read_some(bytes_of(got)), text.size());
    };
    auto reader = reads(here, &p.far, &has_read);
    for (int i = 0; i < 10; ++i) {
        do co_await coflux::sleep_for(1ms);
        while (has_read != i);
        co_await p.near.write_all(text);
    }
    co_await std::move(reader);
    EXPECT_LE(rules.calls(system_call::receive), 11U) << "a call for each, and one that found nothing at first";
}
TEST(tcp_rules, a_read_that_left_nothing_is_followed_by_no_call_that_finds_nothing) {
    on_a_worker(reads_ten_messages);
}

coflux::fork<bool> echoes_once(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    std::string got(text.size(), ' ');
    co_await peer.read_exactly(bytes_of(got));
    co_await peer.write_all(got);
    co_return got == text;
}
coflux::call<void> talks(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback());
    auto other = echoes_once(here, borrowed(listener));
    tcp_stream peer = co_await tcp_stream::connect(listener.local_endpoint());
    co_await peer.write_all(text);
    std::string got(text.size(), ' ');
    co_await peer.read_exactly(bytes_of(got));
    EXPECT_EQ(got, text);
    EXPECT_TRUE(co_await std::move(other));
}

/// The n-th call of each kind fails so often with what says: again.
coflux::task<void, worker> talks_through(environment&, int error, std::size_t times) {
    auto&& here = co_await coflux::context();
    for (std::size_t n = 1; n <= 4; ++n) {
        for (const system_call on : {system_call::receive, system_call::send, system_call::accept}) {
            const system_rules rules{{.on = on, .from = n, .times = times, .error = error},
                                     {.on = on, .times = always, .moves = 20}};
            co_await talks(here);
            EXPECT_GT(rules.calls(on), 0U);
            if (on != system_call::accept || n == 1) {
                EXPECT_GE(rules.followed(), times) << n << ' ' << static_cast<int>(on);
            }
        }
    }
    const system_rules of_all{{.on = system_call::receive, .times = times, .error = error},
                              {.on = system_call::send, .times = times, .error = error},
                              {.on = system_call::accept, .times = times, .error = error},
                              {.on = system_call::receive, .times = always, .moves = 1},
                              {.on = system_call::send, .times = always, .moves = 1}};
    co_await talks(here);
    EXPECT_GE(of_all.followed(), 3 * times);
}
TEST(tcp_rules, goes_on_where_a_signal_interrupts_any_call) {
    for (const std::size_t times : {1, 2, 50}) on_a_worker(talks_through, EINTR, times);
}
coflux::task<void, coflux::thread_pool_executor> talks_on_a_pool(environment&) {
    auto&& here = co_await coflux::context();
    const system_rules rules{{.on = system_call::receive, .times = 50, .error = EAGAIN},
                             {.on = system_call::send, .times = 50, .error = EAGAIN},
                             {.on = system_call::accept, .times = 50, .error = EINTR},
                             {.on = system_call::receive, .times = always, .moves = 3},
                             {.on = system_call::send, .times = always, .moves = 7}};
    for (int i = 0; i < 20; ++i) co_await talks(here);
    EXPECT_GT(rules.followed(), 200U);
}
TEST(tcp_rules, lives_through_them_on_a_pool) {
    coflux::thread_pool_executor on(2);
    auto env = coflux::make_environment(on);
    talks_on_a_pool(env).get();
}
TEST(tcp_rules, lives_through_storms_of_would_block) {
    for (const std::size_t times : {1, 2, 50}) on_a_worker(talks_through, EAGAIN, times);
}

coflux::task<void, worker> connects_interrupted(environment&) {
    auto&& here = co_await coflux::context();
    const system_rules rules{{.on = system_call::connect, .error = EINTR}};
    co_await talks(here);
    EXPECT_EQ(rules.followed(), 1U);
    EXPECT_EQ(rules.calls(system_call::connect), 1U);  // a second one would be an error
}
TEST(tcp_rules, goes_on_with_a_connect_that_a_signal_interrupts) {
    on_a_worker(connects_interrupted);
}

coflux::task<void, worker> runs_out_of(environment&, int error) {
    tcp_listener listener(coflux_test::own_loopback());
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    {
        const system_rules rules{{.on = system_call::accept, .times = 2, .error = error}};
        const auto none = co_await as_result(listener.accept());
        EXPECT_EQ(none.error(), std::error_code(error, std::system_category()));
        EXPECT_EQ(rules.calls(system_call::accept), 1U);  // it does not try again and again
        bool failed = false;
        try {
            (void)co_await listener.accept();
        } catch (const std::system_error& e) {
            failed = e.code().value() == error;
            EXPECT_NE(std::string(e.what()).find(" connection at 127."), std::string::npos) << e.what();
        }
        EXPECT_TRUE(failed);
    }
    tcp_stream far = co_await listener.accept();  // it stayed in the backlog
    co_await near.write_all("x");
    std::byte one{};
    co_await far.read_exactly(std::span(&one, 1));
    EXPECT_EQ(one, std::byte{'x'});
}
TEST(tcp_rules, keeps_a_connection_in_the_backlog_where_there_is_no_descriptor_or_memory_for_it) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) on_a_worker(runs_out_of, error);
}

coflux::task<void, worker> passes_over(environment&) {
    auto&& here = co_await coflux::context();
    for (const int error : {ECONNABORTED, EPROTO, ENETUNREACH, EHOSTUNREACH}) {
        const system_rules rules{{.on = system_call::accept, .times = 3, .error = error}};
        co_await talks(here);
        EXPECT_EQ(rules.followed(), 3U);
    }
}
TEST(tcp_rules, passes_over_a_connection_that_was_cut_in_the_backlog) {
    on_a_worker(passes_over);
}

/// An error at the n-th call comes out, and what was moved before is where it should be.
coflux::task<void, worker> fails_at(environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    {
        const system_rules rules{{.on = system_call::send, .from = n, .error = ENOBUFS},
                                 {.on = system_call::send, .times = always, .moves = 5}};
        const auto sent = co_await as_result(p.near.write_all(text));
        EXPECT_EQ(sent.error(), std::error_code(ENOBUFS, std::system_category()));
        EXPECT_EQ(rules.calls(system_call::send), n);
    }
    co_await p.near.write_all(text.substr(5 * (n - 1)));  // the connection lives
    std::string got(text.size(), ' ');
    {
        const system_rules rules{{.on = system_call::receive, .from = n, .error = ECONNRESET},
                                 {.on = system_call::receive, .times = always, .moves = 5}};
        const auto read = co_await as_result(p.far.read_exactly(bytes_of(got)));
        EXPECT_EQ(read.error(), std::error_condition(std::errc::connection_reset));
        EXPECT_EQ(got.substr(0, 5 * (n - 1)), text.substr(0, 5 * (n - 1)));
    }
    co_await p.far.read_exactly(bytes_of(got).subspan(5 * (n - 1)));
    EXPECT_EQ(got, text);
}
TEST(tcp_rules, gives_the_error_of_any_call_once) {
    for (std::size_t n = 1; n <= 6; ++n) on_a_worker(fails_at, n);
}

coflux::task<void, worker> is_refused(environment&) {
    tcp_listener listener(coflux_test::own_loopback());
    for (const int error : {ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, EAGAIN}) {
        const system_rules rules{{.on = system_call::connect, .error = error}};
        const auto made = co_await as_result(tcp_stream::connect(listener.local_endpoint()));
        EXPECT_EQ(made.error(), std::error_code(error, std::system_category()));
    }
    EXPECT_TRUE((co_await as_result(tcp_stream::connect(listener.local_endpoint()))).has_value());
}
TEST(tcp_rules, gives_the_error_of_a_connect_that_fails_at_once) {
    on_a_worker(is_refused);
}

/// A stop that comes while every call would block ends the wait.
coflux::task<void, worker> is_stopped_in_a_storm(environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    co_await p.near.write_all(text);
    std::string got(text.size(), ' ');
    {
        const system_rules rules{{.on = system_call::receive, .times = always, .error = EAGAIN}};
        EXPECT_FALSE(co_await coflux::timeout(p.far.read_some(bytes_of(got)), 2ms));
        EXPECT_GT(rules.followed(), 0U);
    }
    co_await p.far.read_exactly(bytes_of(got));  // and loses nothing
    EXPECT_EQ(got, text);
}
TEST(tcp_rules, can_be_stopped_in_a_storm) {
    on_a_worker(is_stopped_in_a_storm);
}

}  // namespace
