// A stop in each phase of an operation whose coroutine has a thread of its own, and so a ring that works when
// that thread enters the system. The test is a coroutine there: while it runs, no thread looks.
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "stop_checks.hpp"
#include "stop_matrix.hpp"

namespace {

using coflux::tcp_stream;
using coflux_test::open_descriptors;
using coflux_test::stop_phase;
using coflux_test::stop_place;
using operation = coflux_test::stopped_operation;

template <typename E>
coflux::fork<void, E> reads_one(coflux::environment&, tcp_stream* from, bool* begins) {
    std::byte one{};
    *begins = true;
    (void)co_await from->read_some(std::span(&one, 1));
}
/// The thread has looked meanwhile: what waited to be submitted is, because this waited behind it.
template <typename E>
coflux::fork<void, E> lets_look(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    bool begins = false;
    auto reader = reads_one<E>(here, &p.near, &begins);
    while (!begins) co_await coflux::this_coroutine::yield();
    EXPECT_EQ(send(p.far.native_handle(), "x", 1, 0), 1);
    co_await std::move(reader);
}

template <typename E>
coflux::task<void, E> stops_in(coflux::environment&, operation w, stop_phase when) {
    auto&& here = co_await coflux::context();
    stop_place at;
    co_await coflux_test::prepares_to_wait<E>(here, w, &at);
    auto inside = coflux::make_environment(here);
    auto started = coflux_test::does<E>(inside, w, &at);
    while (!at.begins) co_await coflux::this_coroutine::yield();
    if (when != stop_phase::before_submit) co_await lets_look<E>(here);
    if (when == stop_phase::completed) coflux_test::act(w, at);
    inside.request_stop();
    if (when == stop_phase::cancel_first) co_await lets_look<E>(here);
    if (when == stop_phase::target_first) coflux_test::act(w, at);
    const auto how = co_await coflux::as_outcome(std::move(started));
    at.is_stopped = how.is_stopped();
    co_await inside.join();
    co_await coflux_test::takes_what_is_left(here, w, &at);
    // A ring whose work waits for its thread may cancel what the system could have ended: either is right.
    coflux_test::check_nothing_is_lost(w, when, at);
}

template <typename E>
void stop_in_each_phase(E& executor) {
    auto env = coflux::make_environment(executor);
    stops_in<E>(env, operation::read_some, stop_phase::pending).get();
    stops_in<E>(env, operation::wait_for_child, stop_phase::pending).get();  // whose reaper has descriptors of its own
    const std::size_t before = open_descriptors();
    for (const operation w : coflux_test::all_stopped_operations) {
        for (const stop_phase when : coflux_test::all_stop_phases) {
            stops_in<E>(env, w, when).get();
            ASSERT_TRUE(coflux_test::has_held(w, when));
        }
    }
    EXPECT_LE(coflux_test::descriptors_at_last(before), before);
}

TEST(worker_stop, loses_nothing_in_any_phase_of_any_operation_on_a_worker) {
    coflux::worker_executor worker;
    stop_in_each_phase(worker);
}
TEST(worker_stop, loses_nothing_in_any_phase_of_any_operation_on_a_shard) {
    coflux::shard_group shards({.shards = 1, .pin = false});
    stop_in_each_phase(shards[0]);
}

}  // namespace
