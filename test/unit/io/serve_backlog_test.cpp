// The end of the connections in the backlog when a server is stopped.
#include <coflux/io/serve.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "fake_listener.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::backlog_end;
using coflux::drain_token;
using coflux::endpoint;
using coflux::environment;
using coflux::serve_options;
using coflux::serve_report;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::now;
using coflux_test::on_a_worker;
using coflux_test::own_loopback;
using coflux_test::peer;
using coflux_test::sim;
using worker = coflux::worker_executor;

// --- in virtual time -------------------------------------------------------------------------------------------------

/// Has a backlog that can be looked at.
struct queued_listener : coflux_test::fake_listener {
    using fake_listener::fake_listener;
    std::optional<peer> try_accept() {
        ++looks;
        return take();
    }
    int looks = 0;
};

coflux::call<void> takes_a_second(environment&, peer) {
    co_await 1s;
}
coflux::fork<serve_report, sim> server(environment&, queued_listener* from, serve_options options) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *from, takes_a_second, options);
}

struct ended {
    serve_report report;
    std::size_t left = 0;  // in the backlog
    int looks = 0;
    bool is_closed = false;
    std::chrono::nanoseconds at{};
};
coflux::task<ended, sim> stopped_with(environment&, int queued, std::errc fails, serve_options options) {
    auto&& here = co_await coflux::context();
    queued_listener from(here);
    auto inside = coflux::make_environment(here);
    from.connect(1);
    auto running = server(inside, &from, options);
    co_await 500ms;
    inside.request_stop();
    if (fails != std::errc()) from.fail(fails);
    from.connect(queued);
    const serve_report report = co_await std::move(running);
    co_await inside.join();
    EXPECT_EQ(from.open, 0);
    co_return ended{report, from.backlog(), from.looks, from.is_closed, now()};
}
/// One connection is served when it stops, at 500 ms; a request takes a second.
ended stops_with(int queued, serve_options options, std::errc fails = std::errc()) {
    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation world(fifo);
    sim on(world);
    auto env = coflux::make_environment(on);
    return stopped_with(env, queued, fails, options).get();
}

TEST(serve_backlog, is_served_after_a_stop_and_the_listener_is_closed_then) {
    const ended end = stops_with(3, {});
    EXPECT_EQ(end.report.served, 4U);
    EXPECT_EQ(end.report.cut, 0U);
    EXPECT_EQ(end.left, 0U);
    EXPECT_EQ(end.looks, 4);
    EXPECT_TRUE(end.is_closed);
    EXPECT_EQ(end.at, 1500ms);
}
TEST(serve_backlog, is_served_within_the_limit_of_connections) {
    const ended end = stops_with(3, {.limit = 1});
    EXPECT_EQ(end.report.served, 4U);
    EXPECT_EQ(end.report.peak, 1U);
    EXPECT_EQ(end.at, 4s);
}
TEST(serve_backlog, is_served_until_the_drain_is_over) {
    const ended end = stops_with(5, {.limit = 1, .drain = 2s});
    EXPECT_EQ(end.report.served, 2U);
    EXPECT_EQ(end.report.cut, 1U);
    EXPECT_EQ(end.left, 3U);
    EXPECT_TRUE(end.is_closed);
    EXPECT_EQ(end.at, 2500ms);
}
TEST(serve_backlog, is_served_up_to_a_number) {
    const ended end = stops_with(5, {.most_drained = 2});
    EXPECT_EQ(end.report.served, 3U);
    EXPECT_EQ(end.left, 3U);
    EXPECT_TRUE(end.is_closed);
}
TEST(serve_backlog, is_cut_where_that_is_asked_or_there_is_no_drain) {
    for (const serve_options& options : {serve_options{.backlog = backlog_end::close}, serve_options{.drain = 0s}}) {
        const ended end = stops_with(3, options);
        EXPECT_EQ(end.report.accepted, 1U);
        EXPECT_EQ(end.left, 3U);
        EXPECT_EQ(end.looks, 0);
        EXPECT_TRUE(end.is_closed);
    }
}
TEST(serve_backlog, is_left_to_the_next_server_where_the_listener_stays_open) {
    const ended end = stops_with(3, {.close_listener = false});
    EXPECT_EQ(end.report.served, 1U);
    EXPECT_EQ(end.left, 3U);
    EXPECT_FALSE(end.is_closed);
}
TEST(serve_backlog, is_served_after_errors_that_pass) {
    const ended of_one = stops_with(3, {}, std::errc::connection_aborted);
    EXPECT_EQ(of_one.report.served, 4U);
    EXPECT_EQ(of_one.at, 1500ms);
    const ended no_descriptors = stops_with(3, {.first_delay = 100ms}, std::errc::too_many_files_open);
    EXPECT_EQ(no_descriptors.report.served, 4U);
    EXPECT_EQ(no_descriptors.report.backed_off, 1U);
    EXPECT_EQ(no_descriptors.at, 1600ms);
}
TEST(serve_backlog, whose_listener_fails_is_that_error_once_the_handlers_have_ended) {
    EXPECT_THROW(stops_with(3, {}, std::errc::bad_file_descriptor), std::system_error);
}

// --- a stop before the beginning -------------------------------------------------------------------------------------

coflux::fork<void, sim> serves_once_it_is_stopped(environment&, queued_listener* from, serve_options options) {
    auto&& here = co_await coflux::context();
    here.request_stop();
    (void)co_await coflux::serve(here, *from, takes_a_second, options);
}
coflux::task<void, sim> begins_stopped(environment&) {
    auto&& here = co_await coflux::context();
    for (const bool closes : {true, false}) {
        queued_listener from(here);
        auto running = serves_once_it_is_stopped(here, &from, {.close_listener = closes});
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(running))).is_stopped());
        EXPECT_EQ(from.is_closed, closes);
    }
    queued_listener from(here);
    EXPECT_FALSE((co_await coflux::timeout(coflux::serve(here, from, takes_a_second), 0s)).has_value());
    EXPECT_TRUE(from.is_closed);
}
TEST(serve_stopped_before_it_begins, closes_the_listener_if_that_was_asked) {
    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation world(fifo);
    sim on(world);
    auto env = coflux::make_environment(on);
    begins_stopped(env).get();
}

// --- real sockets ----------------------------------------------------------------------------------------------------

template <typename Listener, typename Stream>
coflux::task<void, worker> looks_at_a_backlog(environment&, endpoint at) {
    Listener listener(at);
    EXPECT_FALSE(listener.try_accept().has_value());
    Stream near = co_await Stream::connect(listener.local_endpoint());
    std::optional<Stream> far = listener.try_accept();
    EXPECT_TRUE(far.has_value());
    EXPECT_FALSE(listener.try_accept().has_value());
    if (!far) co_return;
    co_await far->write_all("hello");
    std::string got(5, ' ');
    co_await near.read_exactly(bytes_of(got));
    EXPECT_EQ(got, "hello");
    // After a wait that a limit has ended, and on its own event source.
    const auto none = co_await coflux::timeout(listener.accept(), 1ms);
    EXPECT_FALSE(none.has_value());
    Stream second = co_await Stream::connect(listener.local_endpoint());
    EXPECT_TRUE(listener.try_accept().has_value());
}
TEST(try_accept, gives_what_stands_in_the_backlog_of_a_listener_and_never_waits) {
    on_a_worker(looks_at_a_backlog<tcp_listener, tcp_stream>, own_loopback());
    const coflux_test::temporary_folder folder;
    on_a_worker(looks_at_a_backlog<coflux::unix_listener, coflux::unix_stream>,
                endpoint::local(folder.path("listener")));
}

coflux::call<void> answers(environment&, tcp_stream of) {
    std::string question(8, ' ');
    co_await of.read_exactly(bytes_of(question));
    co_await 1ms;
    co_await of.write_all("answer");
}
coflux::fork<serve_report, worker> tcp_server(environment&, tcp_listener* from, serve_options options) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *from, answers, options);
}
coflux::task<void, worker> stops_with_clients_in_the_backlog(environment&, backlog_end backlog, int limit,
                                                             int clients) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(own_loopback());
    auto inside = coflux::make_environment(here);
    auto running =
        tcp_server(inside, &listener, {.limit = static_cast<std::size_t>(limit), .drain = 1h, .backlog = backlog});
    std::vector<tcp_stream> all;
    for (int i = 0; i != clients; ++i) {
        all.push_back(co_await tcp_stream::connect(listener.local_endpoint()));
        co_await all.back().write_all("question");
    }
    inside.request_stop();
    int answered = 0;
    for (tcp_stream& one : all) {
        std::string answer(6, ' ');
        if ((co_await coflux::as_result(one.read_exactly(bytes_of(answer)))).has_value()) ++answered;
    }
    const serve_report report = co_await std::move(running);
    co_await inside.join();
    EXPECT_EQ(report.served, static_cast<std::size_t>(answered));
    EXPECT_LE(answered, clients);
    if (backlog == backlog_end::drain) {
        EXPECT_EQ(answered, clients);
    }
}
TEST(serve_backlog, of_tcp_is_served_to_the_last_client) {
    for (const int limit : {1, 4, 100}) on_a_worker(stops_with_clients_in_the_backlog, backlog_end::drain, limit, 40);
    on_a_worker(stops_with_clients_in_the_backlog, backlog_end::close, 4, 40);
}

}  // namespace
