// A stop in each phase of an operation that the system makes: not submitted yet, under way, ended and not
// looked at. On a run_loop, whose steps a test takes one by one.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "stop_checks.hpp"
#include "stop_matrix.hpp"

namespace {

using coflux::endpoint;
using coflux::run_loop;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::connected;
using coflux_test::open_descriptors;
using coflux_test::stop_phase;
using coflux_test::stop_place;
using operation = coflux_test::stopped_operation;

coflux::task<void, run_loop> prepares(coflux::environment&, operation w, stop_place* at) {
    auto&& here = co_await coflux::context();
    co_await coflux_test::prepares_to_wait<run_loop>(here, w, at);
}
coflux::task<void, run_loop> is_stopped(coflux::environment&, operation w, stop_place* at) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    at->inside = &inside;
    auto started = coflux_test::does<run_loop>(inside, w, at);
    at->is_stopped = (co_await coflux::as_outcome(std::move(started))).is_stopped();
    co_await inside.join();
    co_await coflux_test::takes_what_is_left(here, w, at);
}

void stop_in(operation w, stop_phase when) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    stop_place at;
    loop.run(prepares(env, w, &at));
    auto root = is_stopped(env, w, &at);
    while (!at.begins) (void)loop.poll_one();
    // Twice: what was not tried, because the round of one step was over, is tried first.
    for (int looks = 0; looks < 2 && when != stop_phase::before_submit; ++looks) (void)loop.poll();
    if (when == stop_phase::completed) coflux_test::act(w, at);
    at.inside->request_stop();
    if (when == stop_phase::cancel_first) (void)loop.poll();
    if (when == stop_phase::target_first) coflux_test::act(w, at);
    loop.run(std::move(root));
    coflux_test::check_nothing_is_lost(w, when, at);
    // An operation that has ended counts, though a stop was requested before the loop has looked.
    const bool acted = when == stop_phase::completed || when == stop_phase::target_first;
    if (acted && !coflux_test::writes_all(w) && coflux::io_backend_in_use().backend == coflux::io_backend::uring) {
        EXPECT_FALSE(at.is_stopped);
    }
}

TEST(uring_stop, loses_nothing_in_any_phase_of_any_operation) {
    stop_in(operation::read_some, stop_phase::pending);
    stop_in(operation::wait_for_child, stop_phase::pending);  // whose reaper has descriptors of its own
    const std::size_t before = open_descriptors();
    for (const operation w : coflux_test::all_stopped_operations) {
        for (const stop_phase when : coflux_test::all_stop_phases) {
            stop_in(w, when);
            ASSERT_TRUE(coflux_test::has_held(w, when));
        }
    }
    EXPECT_LE(coflux_test::descriptors_at_last(before), before);
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
    EXPECT_LE(open_descriptors(), before);
}

}  // namespace
