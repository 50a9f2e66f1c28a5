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

}  // namespace
