// A stop beside the event, where an operation waits in the source of a pool, of a worker, or of a shard: another thread
// stops it, and on a pool another worker finds the event.
#include <array>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "stop_matrix.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test::stops;
using coflux_test::open_descriptors;
using pool = coflux::thread_pool_executor;

/// The event and the stop, one right after the other. Nothing says which of them the operation meets.
template <typename E>
void stop_beside_the_event(E& on, what w, place& at) {
    auto env = coflux::make_environment(on);
    prepares<E>(env, w, &at).get();
    if (w == what::write_some) fill(at);
    auto root = is_stopped<E>(env, w, &at);
    while (!at.begins.load()) std::this_thread::yield();
    const std::size_t taken = act(w, at);
    at.inside->request_stop();
    root.get();
    check(w, w == what::connect ? phase::pending : phase::at_once, at, taken);
}

template <typename E>
void stop_all_operations(E& on) {
    for (const what w : all_operations) {
        for (std::size_t i = 0; i <= coflux_test::repetitions(40); ++i) {
            place at;
            stop_beside_the_event(on, w, at);
            ASSERT_FALSE(testing::Test::HasFailure()) << "operation " << static_cast<int>(w);
        }
    }
}

TEST(stop_homes, lose_nothing_on_a_worker) {
    coflux::worker_executor on;
    stop_all_operations(on);
}
TEST(stop_homes, lose_nothing_on_a_shard) {
    coflux::shard_group shards(2);
    stop_all_operations(shards[0]);
}
TEST(stop_homes, lose_nothing_on_a_pool) {
    pool on{2};
    stop_all_operations(on);
}

/// The worker that began the operation computes, and does not look.
TEST(stop_homes, lose_nothing_where_another_worker_finds_the_event) {
    pool on{2};
    {
        place first;
        stop_beside_the_event(on, what::read_some, first);
    }
    const std::size_t before = open_descriptors();
    for (const what w : all_operations) {
        constexpr int enough = 4;
        int thefts = 0;
        for (int i = 0; i < 1000 && thefts < enough; ++i) {
            place at;
            at.is_left_to_a_thief = true;
            stop_beside_the_event(on, w, at);
            ASSERT_FALSE(testing::Test::HasFailure()) << "operation " << static_cast<int>(w);
            thefts += at.ended_on != at.began_on ? 1 : 0;
        }
        EXPECT_EQ(thefts, enough) << "operation " << static_cast<int>(w);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
