// An executor has an event source from the first operation on that has to wait, and not before.
#include <coflux/io/pipe.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::open_descriptors;

template <typename E>
coflux::fork<int, E> computes(coflux::environment&, int x) {
    co_await coflux::this_coroutine::yield();
    co_return x + 1;
}

/// Descriptors that were opened by work without a wait for one, and then by the first wait.
struct opened {
    std::size_t without = 0;
    std::size_t by_first_wait = 0;
};
template <typename E>
coflux::task<opened, E> counts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    opened all;
    auto [reader, writer] = coflux::make_pipe();
    const std::size_t before = open_descriptors();
    // First, so that no call comes after the last step of its round: such a call waits for the next one in a source.
    std::byte one{1};
    co_await writer.write_all(std::span(&one, 1));
    EXPECT_EQ(co_await reader.read_some(std::span(&one, 1)), 1U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(co_await computes<E>(here, i), i + 1);
    co_await coflux::sleep_for(100us);
    all.without = open_descriptors() - before;
    EXPECT_FALSE(co_await coflux::timeout(reader.read_some(std::span(&one, 1)), 1ms));
    all.by_first_wait = open_descriptors() - before;
    co_return all;
}
void expect_a_source_from_the_first_wait_on(opened all) {
    EXPECT_EQ(all.without, 0U);
    EXPECT_GT(all.by_first_wait, 0U);
}

TEST(first_wait, makes_the_event_source_of_a_worker) {
    coflux::worker_executor on;
    auto env = coflux::make_environment(on);
    expect_a_source_from_the_first_wait_on(counts<coflux::worker_executor>(env).get());
}
TEST(first_wait, makes_the_event_source_of_a_pool) {
    coflux::thread_pool_executor on{2};
    auto env = coflux::make_environment(on);
    expect_a_source_from_the_first_wait_on(counts<coflux::thread_pool_executor>(env).get());
}
TEST(first_wait, makes_the_event_source_of_a_shard) {
    coflux::shard_group shards({.shards = 2});
    auto env = coflux::make_environment(shards[0]);
    expect_a_source_from_the_first_wait_on(counts<coflux::shard>(env).get());
}
TEST(first_wait, makes_the_event_source_of_a_run_loop) {
    coflux::run_loop on;
    auto env = coflux::make_environment(on);
    expect_a_source_from_the_first_wait_on(on.run(counts<coflux::run_loop>(env)));
}

}  // namespace
