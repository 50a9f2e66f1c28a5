// How an idle pool gives back memory of freed frames.
#include <coflux/executor/thread_pool.hpp>

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "watchdog.hpp"

namespace {

using pool = coflux::thread_pool_executor;
using namespace std::chrono_literals;

#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

constexpr std::size_t burst_size = 50'000;  // some 10 MiB

coflux::fork<std::size_t, pool> one(coflux::environment&, std::size_t i) {
    co_return i;
}
coflux::task<std::size_t, pool> burst(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, pool>> all;
    all.reserve(burst_size);
    for (std::size_t i = 0; i < burst_size; ++i) all.push_back(one(here, i));
    std::size_t sum = 0;
    for (auto& f : all) sum += co_await std::move(f);
    co_return sum;
}

std::size_t slab_bytes() {
    return coflux::frame_pool::shared().stats().slab_bytes;
}

TEST(thread_pool_memory, of_a_burst_goes_back_to_the_heap_when_the_pool_has_been_idle_for_as_long_as_it_keeps_it) {
    COFLUX_TEST_NEEDS_SLABS();
    const coflux_test::watchdog guard("an idle pool keeps the memory of a burst");
    for (const std::size_t threads : {1U, 2U, 4U}) {
        coflux::frame_pool::shared().trim();
        const std::size_t before = slab_bytes();
        pool workers({.threads = threads, .keep_memory = 1ms});
        auto env = coflux::make_environment(workers);
        for (int round = 0; round < 3; ++round) {
            EXPECT_EQ(burst(env).get(), burst_size * (burst_size - 1) / 2);
            // The rest: a slab of each class in which the root's frame or this thread's lists have a block.
            while (slab_bytes() > before + std::size_t{8} * 64 * 1024) std::this_thread::yield();
        }
    }
}

TEST(thread_pool_memory, stays_for_the_next_burst_where_that_comes_soon) {
    COFLUX_TEST_NEEDS_SLABS();
    coflux::frame_pool::shared().trim();
    pool workers({.threads = 2, .keep_memory = std::chrono::nanoseconds::max()});
    auto env = coflux::make_environment(workers);
    (void)burst(env).get();
    const std::size_t released = coflux::frame_pool::shared().stats().slabs_released;
    for (int round = 0; round < 5; ++round) (void)burst(env).get();
    EXPECT_EQ(coflux::frame_pool::shared().stats().slabs_released, released);
}

}  // namespace
