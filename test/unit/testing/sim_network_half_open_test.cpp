// Answers that are lost, and connections of which one end is no more: every operation ends, and what is written is
// told to be lost.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_network.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::endpoint;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::sim_network_options;
using coflux::testing::simulation;

/// A server's machine and a client's, 10 ms apart; the client's clock.
struct far_machines {
    explicit far_machines(sim_network_options options = {.latency = 10ms}) : net(sim, options) {}

    coflux::testing::fifo_chooser fifo;
    simulation sim{fifo};
    sim_network net;
    sim_host server = net.host("10.0.0.1");
    sim_host client = net.host("10.0.0.2");
    sim_executor on_server = server.executor();
    sim_executor on_client = client.executor();
    std::optional<tcp_listener> listener{server.at(80)};

    /// Runs it on the client's machine.
    template <typename F>
    void run(F program) {
        auto env = coflux::make_environment(on_client);
        program(env, borrowed(*this)).get();
        listener.reset();
        net.heal();
        net.restart(server);
        sim.run();
        EXPECT_EQ(net.open_sockets(), 0U);
        EXPECT_EQ(net.dump(), "");
    }
};
using machines = borrowed<far_machines>;

bool is(const std::error_code& error, std::errc what) {
    return error == std::error_condition(what);
}

// --- an answer that is lost

struct connected_how {
    std::error_code error;
    std::chrono::nanoseconds after;
};
coflux::fork<connected_how, sim_executor> connects(environment&, endpoint to) {
    const auto begun = coflux::clock::now();
    const auto made = co_await as_result(tcp_stream::connect(to));
    co_return connected_how{made.error(), coflux::clock::now() - begun};
}

coflux::task<void, sim_executor> loses_the_answer_in_a_crash(environment&, machines m) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(80));
    co_await 15ms;
    m->net.crash(m->server);
    const connected_how how = co_await std::move(connecting);
    EXPECT_TRUE(is(how.error, std::errc::timed_out)) << how.error;
    EXPECT_EQ(how.after, 127s);
}
TEST(sim_network_half_open, ends_a_connect_whose_answer_was_lost_in_a_crash) {
    far_machines().run(loses_the_answer_in_a_crash);
}

coflux::task<void, sim_executor> loses_the_answer_in_a_partition(environment&, machines m) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(80));
    co_await 15ms;
    m->net.partition(m->server, m->client);
    const connected_how how = co_await std::move(connecting);
    EXPECT_TRUE(is(how.error, std::errc::timed_out)) << how.error;
    EXPECT_EQ(how.after, 127s);
}
TEST(sim_network_half_open, ends_a_connect_whose_answer_was_lost_in_a_partition) {
    far_machines().run(loses_the_answer_in_a_partition);
}

coflux::task<void, sim_executor> loses_a_refusal(environment&, machines m) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(81));
    co_await 15ms;
    m->net.partition(m->server, m->client);
    const connected_how how = co_await std::move(connecting);
    EXPECT_TRUE(is(how.error, std::errc::timed_out)) << how.error;
    EXPECT_EQ(how.after, 127s);
}
TEST(sim_network_half_open, ends_a_connect_whose_refusal_was_lost) {
    far_machines().run(loses_a_refusal);
}

coflux::fork<void, sim_executor> comes_back(environment&, machines m, bool listens) {
    m->net.restart(m->server);
    if (listens) m->listener.emplace(m->server.at(80));
    co_return;
}
coflux::task<void, sim_executor> asks_again(environment&, machines m, bool listens) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(80));
    co_await 15ms;
    m->net.crash(m->server);
    m->listener.reset();
    co_await 1s;
    auto servers = coflux::make_environment(m->on_server);
    co_await comes_back(servers, m, listens);
    const connected_how how = co_await std::move(connecting);
    EXPECT_EQ(is(how.error, std::errc::connection_refused), !listens) << how.error;
    EXPECT_EQ(!how.error, listens) << how.error;
    EXPECT_LT(how.after, 2s);
}
TEST(sim_network_half_open, asks_again_a_machine_that_comes_back) {
    far_machines().run([](environment& env, machines m) { return asks_again(env, m, true); });
    far_machines().run([](environment& env, machines m) { return asks_again(env, m, false); });
}

coflux::task<void, sim_executor> is_healed_in_time(environment&, machines m) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(80));
    co_await 15ms;
    m->net.partition(m->server, m->client);
    co_await 100s;
    m->net.heal();
    const connected_how how = co_await std::move(connecting);
    EXPECT_FALSE(how.error);
    co_await 100s;  // the limit passes, and is of no connection any more
    tcp_stream again = co_await tcp_stream::connect(m->server.at(80));
}
TEST(sim_network_half_open, connects_when_the_answer_comes_in_time) {
    far_machines().run(is_healed_in_time);
}

coflux::task<void, sim_executor> is_stopped_meanwhile(environment&, machines m) {
    const auto begun = coflux::clock::now();
    const auto none = co_await coflux::timeout(tcp_stream::connect(m->server.at(80)), 15ms);
    EXPECT_FALSE(none.has_value());
    m->net.partition(m->server, m->client);
    const auto stopped = co_await coflux::timeout(tcp_stream::connect(m->server.at(80)), 1s);
    EXPECT_FALSE(stopped.has_value());
    EXPECT_EQ(coflux::clock::now() - begun, 1015ms);
    EXPECT_EQ(m->client.open_sockets(), 0U);
}
TEST(sim_network_half_open, lets_a_connect_be_stopped_meanwhile) {
    far_machines().run(is_stopped_meanwhile);
}

coflux::task<void, sim_executor> is_too_far(environment&, machines m) {
    auto&& here = co_await coflux::context();
    m->net.latency(m->server, m->client, 100s);
    const connected_how how = co_await connects(here, m->server.at(80));
    EXPECT_TRUE(is(how.error, std::errc::timed_out)) << how.error;
    EXPECT_EQ(how.after, 127s);
    m->net.latency(m->server, m->client, 200s);
    const connected_how further = co_await connects(here, m->server.at(80));
    EXPECT_EQ(further.after, 127s);
}
TEST(sim_network_half_open, ends_a_connect_whose_answer_takes_too_long) {
    far_machines().run(is_too_far);
}

// --- one end that is no more

struct both_ends {
    tcp_stream near;
    tcp_stream far;
};
coflux::call<both_ends> connected(environment&, machines m) {
    both_ends p;
    p.near = co_await tcp_stream::connect(m->server.at(80));
    p.far = co_await m->listener->accept();
    co_return p;
}
coflux::call<std::error_code> reads_one(environment&, tcp_stream& from) {
    std::byte one{};
    auto got = co_await as_result(from.read_some(std::span(&one, 1)));
    co_return got.has_value() && *got == 0 ? std::make_error_code(std::errc::no_message_available) : got.error();
}
coflux::fork<std::error_code, sim_executor> is_told(environment&, tcp_stream* stream) {
    auto&& here = co_await coflux::context();
    co_return co_await reads_one(here, *stream);
}
/// The near end has given up, and the far one knows nothing of it.
coflux::call<both_ends> half_open(environment&, machines m) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await connected(here, m);
    m->net.partition(m->server, m->client);
    co_await p.near.write_all("lost");
    EXPECT_TRUE(is(co_await reads_one(here, p.near), std::errc::timed_out));
    m->net.heal();
    co_return p;
}

coflux::task<void, sim_executor> gave_up_connecting(environment&, machines m) {
    auto&& here = co_await coflux::context();
    auto connecting = connects(here, m->server.at(80));
    co_await 15ms;
    m->net.partition(m->server, m->client);
    EXPECT_TRUE(is((co_await std::move(connecting)).error, std::errc::timed_out));
    tcp_stream accepted = co_await m->listener->accept();  // the server took it for a connection
    m->net.heal();
    EXPECT_TRUE(is(co_await reads_one(here, accepted), std::errc::connection_reset));
}
TEST(sim_network_half_open, tells_a_server_that_its_client_gave_up_connecting) {
    far_machines().run(gave_up_connecting);
}

coflux::task<void, sim_executor> writes_to_one_that_gave_up(environment&, machines m, bool closes) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await half_open(here, m);
    if (closes) p.near.close();
    const auto untold = co_await coflux::timeout(is_told(here, &p.far), 1h);
    EXPECT_FALSE(untold.has_value());
    co_await p.far.write_all("into the void");
    EXPECT_TRUE(is(co_await reads_one(here, p.far), std::errc::connection_reset));
    EXPECT_TRUE(is((co_await as_result(p.far.write_all("x"))).error(), std::errc::broken_pipe));
}
TEST(sim_network_half_open, answers_what_is_written_to_an_end_that_gave_up) {
    far_machines().run([](environment& env, machines m) { return writes_to_one_that_gave_up(env, m, false); });
    far_machines().run([](environment& env, machines m) { return writes_to_one_that_gave_up(env, m, true); });
}

coflux::task<void, sim_executor> ends_towards_one_that_gave_up(environment&, machines m, bool closes) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await half_open(here, m);
    if (closes) p.near.close();
    p.far.shutdown_send();
    EXPECT_TRUE(is(co_await reads_one(here, p.far), std::errc::connection_reset));
}
TEST(sim_network_half_open, answers_an_end_of_stream_where_no_connection_is_left) {
    far_machines().run([](environment& env, machines m) { return ends_towards_one_that_gave_up(env, m, false); });
    far_machines().run([](environment& env, machines m) { return ends_towards_one_that_gave_up(env, m, true); });
}

coflux::fork<std::error_code, sim_executor> writes_until_told(environment&, tcp_stream* to) {
    const std::string much(10'000, 'x');
    for (;;) {
        const auto sent = co_await as_result(to->write_all(much));
        if (sent.error()) co_return sent.error();
    }
}
coflux::task<void, sim_executor> waits_for_room_at_one_that_crashes(environment&, machines m, bool comes_back) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await connected(here, m);
    auto writing = writes_until_told(here, &p.near);
    co_await 1s;
    m->net.crash(m->server);
    if (comes_back) {
        co_await 1s;
        m->net.restart(m->server);
    }
    EXPECT_TRUE(is(co_await std::move(writing), comes_back ? std::errc::connection_reset : std::errc::timed_out));
}
TEST(sim_network_half_open, ends_a_write_that_waits_for_room_at_a_machine_that_crashes) {
    far_machines().run([](environment& env, machines m) { return waits_for_room_at_one_that_crashes(env, m, false); });
    far_machines().run([](environment& env, machines m) { return waits_for_room_at_one_that_crashes(env, m, true); });
}

coflux::task<void, sim_executor> waits_for_room_at_one_that_gave_up(environment&, machines m) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await connected(here, m);
    auto writing = writes_until_told(here, &p.far);  // until the near end has no room left
    co_await 1s;
    m->net.partition(m->server, m->client);
    co_await p.near.write_all("lost");
    co_await 16min;  // the near end has given up
    m->net.heal();
    EXPECT_TRUE(is(co_await std::move(writing), std::errc::connection_reset));
}
TEST(sim_network_half_open, ends_a_write_that_waits_for_room_at_an_end_that_gave_up) {
    far_machines().run(waits_for_room_at_one_that_gave_up);
}

coflux::task<void, sim_executor> loses_the_word_that_none_is_there(environment&, machines m, bool crashes, bool ends) {
    auto&& here = co_await coflux::context();
    both_ends p = co_await connected(here, m);
    p.far.close();
    EXPECT_TRUE(is(co_await reads_one(here, p.near), std::errc::no_message_available));
    co_await p.near.write_all("a");
    co_await 15ms;  // it has come, and the answer is on its way
    if (crashes) {
        m->net.crash(m->server);
    } else {
        m->net.partition(m->server, m->client);
    }
    co_await 1min;
    if (ends) {
        m->net.heal();
        m->net.restart(m->server);
    }
    co_await (ends ? std::chrono::nanoseconds(1s) : 15min);
    const auto told = co_await as_result(p.near.write_all("b"));
    EXPECT_TRUE(is(told.error(), ends ? std::errc::connection_reset : std::errc::timed_out)) << told.error();
}
TEST(sim_network_half_open, loses_no_word_that_none_is_there) {
    for (const bool crashes : {false, true}) {
        for (const bool ends : {false, true}) {
            far_machines().run(
                [=](environment& env, machines m) { return loses_the_word_that_none_is_there(env, m, crashes, ends); });
        }
    }
}

}  // namespace
