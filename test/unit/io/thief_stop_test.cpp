// A stop of an operation that another worker of a pool has ended: the one that began it computes, the other
// one has looked, and the coroutine that waited is to go on there, but does not yet.
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "stop_checks.hpp"
#include "stop_matrix.hpp"

namespace {

using coflux_test::open_descriptors;
using coflux_test::stop_phase;
using coflux_test::stop_place;
using operation = coflux_test::stopped_operation;
using pool = coflux::thread_pool_executor;

struct theft {
    stop_place at;
    coflux_test::stream_pair first;  // what comes here is found before what ends the operation
    bool first_waits = false;
    bool went_on = false;  // the operation, before the stop was requested
    std::thread::id starter;
    std::atomic<bool> is_held{false};
    std::atomic<bool> is_released{false};
    std::atomic<bool> has_looked{false};
    std::atomic<bool> is_requested{false};
};

void wait_for(const std::atomic<bool>& flag) {
    while (!flag) std::this_thread::yield();
}

/// Keeps the thief from looking until all is there.
coflux::task<void, pool> holds(coflux::environment&, theft* t) {
    t->is_held = true;
    wait_for(t->is_released);
    co_return;
}
/// Goes on at the thief, and keeps it from going on with the operation until the stop was requested.
coflux::fork<void, pool> is_found_first(coflux::environment&, theft* t) {
    std::byte one{};
    t->first_waits = true;
    (void)co_await t->first.near.read_some(std::span(&one, 1));
    t->has_looked = true;
    if (std::this_thread::get_id() != t->starter) wait_for(t->is_requested);
}
void lets_first_end(const theft& t) {
    EXPECT_EQ(send(t.first.far.native_handle(), "x", 1, 0), 1);
}
coflux::task<void, pool> prepares(coflux::environment&, operation w, theft* t) {
    auto&& here = co_await coflux::context();
    t->first = co_await coflux_test::connected(here);
    // A connection that comes at once: what is under way when the thief looks.
    if (w == operation::connect) t->at.connects_to = t->at.listener.local_endpoint();
    co_await coflux_test::prepares_to_wait<pool>(here, w == operation::connect ? operation::read_some : w, &t->at);
}
/// Runs on the only worker that is free, and never leaves it where it does not yield.
coflux::task<void, pool> starts(coflux::environment&, operation w, theft* t) {
    auto&& here = co_await coflux::context();
    t->starter = std::this_thread::get_id();
    auto first = is_found_first(here, t);
    while (!t->first_waits) co_await coflux::this_coroutine::yield();
    auto inside = coflux::make_environment(here);
    // A connect has ended as soon as it waits.
    if (w == operation::connect) lets_first_end(*t);
    auto started = coflux_test::does<pool>(inside, w, &t->at);
    while (!t->at.begins) co_await coflux::this_coroutine::yield();
    if (w != operation::connect) lets_first_end(*t);
    const std::size_t before = coflux_test::writes_all(w) ? coflux_test::accepted(w, t->at) : 0;
    coflux_test::act(w, t->at);
    t->is_released = true;
    wait_for(t->has_looked);
    // This thread has not looked: it was the thief.
    t->went_on = coflux_test::writes_all(w) && coflux_test::accepted(w, t->at) > before;
    inside.request_stop();
    t->is_requested = true;
    wait_for(t->at.has_ended);
    t->at.is_stopped = (co_await coflux::as_outcome(std::move(started))).is_stopped();
    co_await std::move(first);
    co_await inside.join();
    co_await coflux_test::takes_what_is_left(here, w, &t->at);
}

/// False: the thief did not find both in one look, or the operation ended before.
bool is_stolen(operation w) {
    pool two{2};
    auto env = coflux::make_environment(two);
    theft t;
    prepares(env, w, &t).get();
    auto held = holds(env, &t);
    wait_for(t.is_held);
    starts(env, w, &t).get();
    held.join();
    coflux_test::check_nothing_is_lost(w, stop_phase::reaped, t.at);
    // The thief's find counts. The rest of what it has written in part waits again, and may be stopped.
    return coflux_test::writes_all(w) ? t.went_on : !t.at.is_stopped && t.at.ended_on != t.starter;
}

TEST(thief_stop, loses_nothing_of_what_another_worker_has_ended) {
    (void)is_stolen(operation::read_some);
    const std::size_t before = open_descriptors();
    for (const operation w : coflux_test::all_stopped_operations) {
        bool stolen = false;
        for (int tries = 0; tries < 100 && !stolen; ++tries) {
            stolen = is_stolen(w);
            ASSERT_TRUE(coflux_test::has_held(w, stop_phase::reaped));
        }
        EXPECT_TRUE(stolen) << "operation " << static_cast<int>(w);
    }
    EXPECT_LE(open_descriptors(), before);
}

}  // namespace
