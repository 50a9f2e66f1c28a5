// serve() with sockets of the system.
#include <coflux/io/serve.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "few_descriptors.hpp"
#include "support/cpu_clock.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::drain_token;
using coflux::endpoint;
using coflux::environment;
using coflux::serve_options;
using coflux::serve_report;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::few_descriptors;
using coflux_test::open_descriptors;
using worker = coflux::worker_executor;
using pool = coflux::thread_pool_executor;

/// Gives messages of five bytes back, one after the other.
coflux::call<void> echoes(environment&, tcp_stream peer, drain_token server) {
    auto&& here = co_await coflux::context();
    std::string message(5, ' ');
    while (co_await server.idle(here, peer)) {
        const auto got = co_await coflux::as_result(peer.read_exactly(bytes_of(message)));
        if (!got && got.error() == std::errc::no_message_available) co_return;
        if (!got) throw std::system_error(got.error());
        co_await peer.write_all(message);
    }
}

template <typename E>
coflux::fork<serve_report, E> server(environment&, tcp_listener* at, serve_options options) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *at, echoes, options);
}
template <typename E, typename Handler>
coflux::fork<serve_report, E> server_of(environment&, tcp_listener* at, Handler handler, serve_options options) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *at, handler, options);
}

coflux::call<bool> asks(environment&, tcp_stream& peer) {
    std::string got(5, ' ');
    const auto sent = co_await coflux::as_result(peer.write_all("hello"));
    if (!sent) co_return false;
    const auto read = co_await coflux::as_result(peer.read_exactly(bytes_of(got)));
    co_return read.has_value() && got == "hello";
}
coflux::call<bool> asks_once(environment&, endpoint where) {
    auto&& here = co_await coflux::context();
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_return co_await asks(here, peer);
}
/// True if the server ends the connection.
coflux::call<bool> hears_the_end(environment&, tcp_stream& peer) {
    std::byte one{};
    auto got = co_await coflux::timeout(coflux::as_result(peer.read_some(std::span(&one, 1))), 10s);
    co_return !got.timed_out() && (!got || *got == 0);
}

template <typename F>
coflux::task<void, worker> root(environment&, F body) {
    auto&& here = co_await coflux::context();
    co_await body(here);
}
template <typename F>
void on_a_worker(F body) {
    worker on;
    auto env = coflux::make_environment(on);
    root(env, body).get();
}

TEST(serve_tcp, serves_a_thousand_connections_in_turn_and_leaves_no_descriptor) {
    worker on;
    auto env = coflux::make_environment(on);
    auto body = [](environment& here, std::uint64_t count) -> coflux::call<void> {
        tcp_listener listener(endpoint::loopback(0));
        const endpoint where = listener.local_endpoint();
        auto inside = coflux::make_environment(here);
        auto running = server<worker>(inside, &listener, {.limit = 1});
        for (std::uint64_t i = 0; i < count; ++i) {
            EXPECT_TRUE(co_await asks_once(here, where));
        }
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.served, count);
        EXPECT_EQ(report.peak, 1U);
    };
    root(env, [&](environment& here) -> coflux::call<void> { co_await body(here, 1); }).get();
    const std::size_t before = open_descriptors();
    root(env, [&](environment& here) -> coflux::call<void> { co_await body(here, 1000); }).get();
    EXPECT_LE(open_descriptors(), before);
}

TEST(serve_tcp, goes_on_after_a_reset_in_a_message) {
    on_a_worker([](environment& here) -> coflux::call<void> {
        tcp_listener listener(endpoint::loopback(0));
        const endpoint where = listener.local_endpoint();
        auto inside = coflux::make_environment(here);
        auto running = server<worker>(inside, &listener, {});
        for (int i = 0; i < 3; ++i) {
            tcp_stream rude = co_await tcp_stream::connect(where);
            EXPECT_TRUE(co_await asks(here, rude));
            co_await rude.write_all("he");
            rude.reset();
        }
        EXPECT_TRUE(co_await asks_once(here, where));
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.failed, 3U);
        EXPECT_EQ(report.served, 1U);
        try {
            std::rethrow_exception(report.first_error);
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::connection_reset);
        }
    });
}

/// The letters up to an "o".
coflux::call<std::string> reads_a_greeting(environment&, tcp_stream& from) {
    std::string got;
    char letter = ' ';
    do {
        if (co_await from.read_some(std::as_writable_bytes(std::span(&letter, 1))) == 0) break;
        got += letter;
    } while (letter != 'o');
    co_return got;
}
/// A letter now and then, and never the last one; until the server has had enough.
coflux::fork<void, worker> drips(environment&, tcp_stream* to) {
    for (int i = 0; i < 1000; ++i) {
        if (!co_await coflux::as_result(to->write_all("h"))) break;
        co_await 2ms;
    }
}
TEST(serve_tcp, frees_the_places_of_clients_that_send_too_slowly) {
    on_a_worker([](environment& here) -> coflux::call<void> {
        tcp_listener listener(endpoint::loopback(0));
        const endpoint where = listener.local_endpoint();
        auto handler = [](environment&, tcp_stream peer) -> coflux::call<void> {
            auto&& self = co_await coflux::context();
            // The limit is for the whole message: each read of one that drips ends in time.
            const auto got = co_await coflux::timeout(reads_a_greeting(self, peer), 20ms);
            if (got) co_await peer.write_all(*got);
        };
        auto inside = coflux::make_environment(here);
        auto running = server_of<worker>(inside, &listener, handler, {.limit = 2});
        std::vector<tcp_stream> slow(6);
        std::vector<coflux::fork<void, worker>> dripping;
        for (tcp_stream& peer : slow) {
            peer = co_await tcp_stream::connect(where);
            dripping.push_back(drips(here, &peer));
        }
        // On a busy machine it is too slow itself, perhaps.
        std::uint64_t asked = 1;
        while (!co_await asks_once(here, where)) ++asked;
        for (tcp_stream& peer : slow) {
            EXPECT_TRUE(co_await hears_the_end(here, peer));
        }
        for (auto& each : dripping) co_await std::move(each);
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.served, slow.size() + asked);
        EXPECT_EQ(report.peak, 2U);
    });
}

TEST(serve_tcp, ends_at_once_where_all_handlers_wait_for_their_next_request) {
    on_a_worker([](environment& here) -> coflux::call<void> {
        tcp_listener listener(endpoint::loopback(0));
        const endpoint where = listener.local_endpoint();
        auto inside = coflux::make_environment(here);
        auto running = server<worker>(inside, &listener, {.drain = 1h});
        std::vector<tcp_stream> idle;
        for (int i = 0; i < 50; ++i) {
            idle.push_back(co_await tcp_stream::connect(where));
            EXPECT_TRUE(co_await asks(here, idle.back()));
        }
        tcp_stream busy = co_await tcp_stream::connect(where);
        EXPECT_TRUE(co_await asks(here, busy));
        co_await busy.write_all("he");
        // Bytes that were sent before have been seen once this has come back: its handler is in the request.
        EXPECT_TRUE(co_await asks(here, idle.front()));
        inside.request_stop();
        for (tcp_stream& peer : idle) {
            EXPECT_TRUE(co_await hears_the_end(here, peer));
        }
        // The listener is closed: a new client is told at once.
        const auto late = co_await coflux::as_result(tcp_stream::connect(where));
        EXPECT_EQ(late.error(), std::errc::connection_refused);
        co_await busy.write_all("llo");
        std::string got(5, ' ');
        co_await busy.read_exactly(bytes_of(got));
        EXPECT_EQ(got, "hello");
        EXPECT_TRUE(co_await hears_the_end(here, busy));
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.served, 51U);
        EXPECT_EQ(report.cut, 0U);
        EXPECT_EQ(report.peak, 51U);
    });
}

TEST(serve_tcp, cuts_handlers_that_are_in_a_message_when_the_drain_is_over) {
    const std::size_t before = open_descriptors();
    on_a_worker([](environment& here) -> coflux::call<void> {
        tcp_listener listener(endpoint::loopback(0));
        const endpoint where = listener.local_endpoint();
        auto inside = coflux::make_environment(here);
        auto running = server<worker>(inside, &listener, {.drain = 20ms});
        std::vector<tcp_stream> stuck;
        for (int i = 0; i < 20; ++i) {
            stuck.push_back(co_await tcp_stream::connect(where));
            EXPECT_TRUE(co_await asks(here, stuck.back()));
            co_await stuck.back().write_all("he");
        }
        // All of it has been seen once this has come back, and the last handler has ended.
        tcp_stream last = co_await tcp_stream::connect(where);
        EXPECT_TRUE(co_await asks(here, last));
        last.shutdown_send();
        EXPECT_TRUE(co_await hears_the_end(here, last));
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.cut, 20U);
        for (tcp_stream& peer : stuck) {
            EXPECT_TRUE(co_await hears_the_end(here, peer));
        }
    });
    EXPECT_LE(open_descriptors(), before);
}

// --- executors -------------------------------------------------------------------------------------------------------

/// Comes and goes until the server has gone.
template <typename E>
coflux::fork<void, E> connects_often(environment&, endpoint where) {
    for (;;) {
        const auto peer = co_await coflux::as_result(tcp_stream::connect(where));
        if (!peer) co_return;
    }
}
template <typename E>
coflux::task<serve_report, E> is_stopped_under_load(environment&, serve_options options) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto inside = coflux::make_environment(here);
    auto running = server<E>(inside, &listener, options);
    std::vector<coflux::fork<void, E>> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(connects_often<E>(here, where));
    (void)co_await asks_once(here, where);
    co_await 3ms;
    inside.request_stop();
    const auto report = co_await std::move(running);
    co_await inside.join();
    co_await coflux::when_all(std::move(clients));
    co_return report;
}
template <typename E>
void stops_under_load(E& on) {
    auto env = coflux::make_environment(on);
    for (int i = 0; i < 20; ++i) {
        const auto report =
            is_stopped_under_load<E>(env, {.limit = 3, .drain = std::chrono::milliseconds(i % 2)}).get();
        EXPECT_EQ(report.accepted, report.served + report.failed + report.cut);
        EXPECT_GE(report.accepted, 1U);
        EXPECT_LE(report.peak, 3U);
    }
}
TEST(serve_tcp, counts_each_connection_once_when_it_is_stopped_under_load_on_a_worker) {
    worker on;
    stops_under_load(on);
}
TEST(serve_tcp, counts_each_connection_once_when_it_is_stopped_under_load_on_a_pool) {
    pool on{2};
    stops_under_load(on);
}

coflux::fork<void, pool> echoes_on_the_pool(environment&, tcp_stream peer, drain_token server) {
    auto&& here = co_await coflux::context();
    co_await echoes(here, std::move(peer), server);
}
coflux::task<serve_report, worker> accepts_here_and_serves_there(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto inside = coflux::make_environment(here);
    auto running = server_of<worker>(inside, &listener, echoes_on_the_pool, {});
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(co_await asks_once(here, where));
    }
    inside.request_stop();
    const auto report = co_await std::move(running);
    co_await inside.join();
    co_return report;
}
TEST(serve_tcp, accepts_on_one_executor_and_serves_on_another) {
    worker on;
    pool threads{2};
    auto env = coflux::make_environment(on, threads);
    EXPECT_EQ(accepts_here_and_serves_there(env).get().served, 20U);
}

coflux::task<std::uint64_t, coflux::run_loop> serves_on_a_loop(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto inside = coflux::make_environment(here);
    auto running = server<coflux::run_loop>(inside, &listener, {});
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(co_await asks_once(here, where));
    }
    inside.request_stop();
    const auto report = co_await std::move(running);
    co_await inside.join();
    co_return report.served;
}
TEST(serve_tcp, serves_on_a_run_loop) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_EQ(loop.run(serves_on_a_loop(env)), 20U);
}

coflux::task<std::uint64_t, coflux::shard> serves_on_each_shard(environment&,
                                                                coflux::borrowed<coflux::shard_group> shards) {
    auto&& here = co_await coflux::context();
    std::vector<tcp_listener> listeners;
    listeners.emplace_back(endpoint::loopback(0), coflux::listen_options{.shared_port = true});
    const endpoint where = listeners.front().local_endpoint();
    listeners.emplace_back(where, coflux::listen_options{.shared_port = true});
    std::uint64_t served = 0;
    {
        auto first = coflux::make_environment(here, (*shards)[0]);
        auto second = coflux::make_environment(here, (*shards)[1]);
        auto one = server<coflux::shard>(first, &listeners[0], {});
        auto two = server<coflux::shard>(second, &listeners[1], {});
        for (int i = 0; i < 40; ++i) {
            EXPECT_TRUE(co_await asks_once(here, where));
        }
        first.request_stop();
        second.request_stop();
        served = (co_await std::move(one)).served;
        served += (co_await std::move(two)).served;
        co_await first.join();
        co_await second.join();
    }
    co_return served;
}
TEST(serve_tcp, serves_on_each_shard_with_a_listener_of_its_own) {
    coflux::shard_group shards({.shards = 2});
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(serves_on_each_shard(env, coflux::borrowed(shards)).get(), 40U);
}

// --- a process without descriptors, and signals: in processes of their own -------------------------------------------

class serve_tcp_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    /// Not on a ring, if not said: a limit that is lowered does not concern an accept that a ring has begun.
    template <typename Body>
    [[noreturn]] static void child(Body body, const char* back_end = "epoll") {
        coflux_test::die_rather_than_hang();
        if (back_end != nullptr) setenv("COFLUX_IO", back_end, 1);
        worker on;
        auto env = coflux::make_environment(on);
        std::_Exit(body(env).get());
    }
};

coflux::task<int, worker> runs_short(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto inside = coflux::make_environment(here);
    auto running = server<worker>(inside, &listener, {.first_delay = 1ms, .longest_delay = 20ms});
    if (!co_await asks_once(here, where)) co_return 1;  // the event source is made
    std::vector<tcp_stream> clients;
    for (int i = 0; i < 6; ++i) clients.push_back(co_await tcp_stream::connect(where));
    if (!co_await asks(here, clients.back())) co_return 2;  // all have a handler
    tcp_stream first = co_await tcp_stream::connect(where);
    if (!co_await asks(here, first)) co_return 3;
    std::chrono::nanoseconds cost{0};
    {
        const few_descriptors none(1);
        tcp_stream waits = co_await tcp_stream::connect(where);  // takes the last one; it stays in the backlog
        const auto before = coflux_test::process_cpu_time();
        const bool is_served = (co_await coflux::timeout(asks(here, waits), 300ms)).has_value();
        cost = coflux_test::process_cpu_time() - before;
        if (is_served) co_return 4;
        if (!co_await asks(here, first)) co_return 5;  // the others are served
        clients.clear();                               // now there is room
        std::string got(5, ' ');
        co_await waits.read_exactly(bytes_of(got));
        if (got != "hello") co_return 6;
    }
    inside.request_stop();
    const auto report = co_await std::move(running);
    co_await inside.join();
    if (report.backed_off < 3 || report.refused != 0) co_return 7;
    co_return cost < 150ms ? 0 : 8;
}
TEST_F(serve_tcp_death, a_process_without_descriptors_backs_off_and_serves_what_waited_once_there_is_room) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    EXPECT_EXIT(child(runs_short), testing::ExitedWithCode(0), "");
}

coflux::task<int, worker> refuses(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto inside = coflux::make_environment(here);
    auto running = server<worker>(inside, &listener, {.refuse_when_full = true});
    if (!co_await asks_once(here, where)) co_return 1;
    tcp_stream first = co_await tcp_stream::connect(where);
    if (!co_await asks(here, first)) co_return 2;
    const std::size_t before = open_descriptors();
    {
        for (int i = 0; i < 5; ++i) {
            const few_descriptors none(1);
            tcp_stream late = co_await tcp_stream::connect(where);
            if (!co_await hears_the_end(here, late)) co_return 3;
        }
        if (!co_await asks(here, first)) co_return 4;
        // Nothing has come that is to be refused: the spare descriptor is kept.
        {
            const few_descriptors none(0);
            co_await 20ms;
        }
        if (open_descriptors() != before) co_return 8;
    }
    if (!co_await asks_once(here, where)) co_return 5;
    inside.request_stop();
    const auto report = co_await std::move(running);
    co_await inside.join();
    if (report.refused != 5) co_return 6;
    co_return report.served == 3 && report.backed_off == 0 ? 0 : 7;
}
TEST_F(serve_tcp_death, a_process_without_descriptors_closes_what_it_cannot_serve_at_once) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    EXPECT_EXIT(child(refuses), testing::ExitedWithCode(0), "");
}

/// The accept waits although there is no number for what may come: nothing has come.
coflux::task<int, worker> waits_without_a_number(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    if (co_await coflux::timeout(listener.accept(), 1ms)) co_return 1;  // the event source is made
    auto inside = coflux::make_environment(here);
    const std::size_t before = open_descriptors();
    {
        const few_descriptors none(0);
        if (co_await coflux::timeout(listener.accept(), 10ms)) co_return 2;
    }
    {
        std::optional<few_descriptors> spare_alone(1);
        auto running = server<worker>(inside, &listener, {.refuse_when_full = true});
        co_await 10ms;
        spare_alone.reset();  // to count takes one
        if (open_descriptors() != before + 1) co_return 3;
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        if (report.backed_off != 0 || report.refused != 0) co_return 4;
    }
    co_return 0;
}
TEST_F(serve_tcp_death, a_process_without_descriptors_waits_for_a_connection_as_any_other) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    EXPECT_EXIT(child(waits_without_a_number, nullptr), testing::ExitedWithCode(0), "");
}

/// Is stopped with the program, and waits all the same.
coflux::fork<void, pool> waits_shielded(environment&, endpoint where) {
    auto&& here = co_await coflux::context();
    const auto client = [](environment&, endpoint at) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        tcp_stream peer = co_await tcp_stream::connect(at);
        (void)co_await hears_the_end(self, peer);
    };
    co_await coflux::shielded(client(here, where));
}
coflux::task<int, pool> is_terminated(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const endpoint where = listener.local_endpoint();
    auto handler = [](environment&, tcp_stream peer, drain_token server) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        (void)std::raise(SIGTERM);
        while (!server.is_draining()) co_await 1ms;
        co_await 5ms;  // a wait that begins after the stop
        co_await echoes(self, std::move(peer), drain_token(server));
    };
    waits_shielded(here, where).attach();
    const serve_report report = co_await coflux::serve(here, listener, handler);
    co_return report.served == 1 ? 7 : 1;  // it is still run: the report is a value
}
TEST_F(serve_tcp_death, a_program_that_is_terminated_gives_its_report) {
    EXPECT_EXIT(
        {
            coflux_test::die_rather_than_hang();
            std::_Exit(coflux::run(is_terminated));
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
