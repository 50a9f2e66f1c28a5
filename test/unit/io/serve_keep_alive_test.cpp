// serve() with connections of many requests: a drain loses none that has come.
#include <coflux/io/serve.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/base/atomic.hpp>
#include <coflux/coflux.hpp>

#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::drain_token;
using coflux::endpoint;
using coflux::environment;
using coflux::unix_listener;
using coflux::unix_stream;
using worker = coflux::worker_executor;
using pool = coflux::thread_pool_executor;

constexpr int clients = 40;
constexpr int most_requests = 4;

/// Counts of what the clients of one server see.
struct visit_counts {
    coflux::manual_reset_event all_have_begun;  // a handler has each connection
    coflux::detail::atomic<int> begun{0};
    coflux::detail::atomic<bool> is_stopped{false};  // set before the stop
    coflux::detail::atomic<int> answered{0};
    coflux::detail::atomic<int> lost{0};
};

constexpr std::string_view question = "hello\n";

/// Gives lines back, one after the other. A second one that came with the first lies in its reader, or still in its
/// socket.
struct answers {
    visit_counts* counts;
    coflux::call<void> operator()(environment&, unix_stream peer, drain_token server) const {
        auto&& here = co_await coflux::context();
        const int number = counts->begun.fetch_add(1);
        if (number + 1 == clients) counts->all_have_begun.set();
        coflux::buffered_reader in(peer, number % 2 == 0 ? question.size() : 2 * question.size());
        do {
            const auto line = co_await in.read_line(here);
            if (!line) co_return;
            const std::string answer = std::string(*line) + '\n';
            co_await peer.write_all(answer);
        } while (co_await server.idle(here, in));
    }
};

/// Bytes that are written to a local socket are in that of the peer when the call returns. So what was written before
/// the stop must be answered. So must be the first request, whenever it comes: its connection is a fresh one. Half of
/// the clients ask two questions at a time.
template <typename E>
coflux::fork<void, E> asks(environment&, endpoint where, visit_counts* counts, int number) {
    auto&& here = co_await coflux::context();
    unix_stream peer = co_await unix_stream::connect(where);
    coflux::buffered_reader in(peer, 16);
    co_await counts->all_have_begun.wait();
    std::string request(question);
    if (number / 2 % 2 == 0) request += question;
    for (int i = 0; i < most_requests; ++i) {
        for (int pause = (7 * number + 3 * i) % 6; pause > 0; --pause) co_await coflux::yield();
        const auto sent = co_await coflux::as_result(peer.write_all(request));
        const bool must_be_answered = i == 0 || (sent && !counts->is_stopped.load());
        for (std::size_t left = request.size(); left != 0; left -= question.size()) {
            const auto answer = co_await coflux::as_outcome(in.read_line(here));
            if (!answer.has_value() || *answer != "hello") {
                if (must_be_answered) counts->lost.fetch_add(1);
                co_return;
            }
        }
        counts->answered.fetch_add(1);
    }
}

template <typename E>
coflux::fork<coflux::serve_report, E> server(environment&, unix_listener* at, answers handler) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *at, handler, {.drain = 1h});
}

/// Gives how many requests were answered.
template <typename E>
coflux::task<int, E> stops_a_server_often(environment&, std::size_t stops) {
    auto&& here = co_await coflux::context();
    const endpoint where = endpoint::local("/tmp/coflux_keep_alive_" + std::to_string(getpid()));
    int answered = 0;
    for (std::size_t stop = 0; stop < stops; ++stop) {
        visit_counts counts;
        unix_listener listener(where);
        auto inside = coflux::make_environment(here);
        auto running = server<E>(inside, &listener, answers{&counts});
        std::vector<coflux::fork<void, E>> visits;
        for (int i = 0; i < clients; ++i) visits.push_back(asks<E>(here, where, &counts, i));
        co_await counts.all_have_begun.wait();
        for (std::size_t pause = stop % 64; pause > 0; --pause) co_await coflux::yield();
        counts.is_stopped.store(true);
        inside.request_stop();
        co_await coflux::when_all(std::move(visits));
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(counts.lost.load(), 0) << "stop " << stop;
        EXPECT_EQ(report.served, static_cast<std::uint64_t>(clients)) << "stop " << stop;
        answered += counts.answered.load();
    }
    co_return answered;
}

TEST(serve_keep_alive, loses_no_request_of_40_clients_at_any_of_1000_stops) {
    const std::size_t stops = coflux_test::repetitions(1000);
    worker on;
    auto env = coflux::make_environment(on);
    const int answered = stops_a_server_often<worker>(env, stops).get();
    EXPECT_GE(answered, clients * static_cast<int>(stops));
    EXPECT_LE(answered, clients * most_requests * static_cast<int>(stops));
}
TEST(serve_keep_alive, loses_no_request_on_a_pool) {
    const std::size_t stops = coflux_test::repetitions(400);
    pool on(2);
    auto env = coflux::make_environment(on);
    EXPECT_GE(stops_a_server_often<pool>(env, stops).get(), clients * static_cast<int>(stops));
}

}  // namespace
