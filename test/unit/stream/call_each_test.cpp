#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

using namespace std::chrono_literals;
using stream_test::on_pool;
using stream_test::order;
using stream_test::orders;
namespace stream = coflux::stream;

TEST(call_each, awaits_a_call_for_each_record) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::size_t in_flight : {1, 4, 100}) {
            stream::memory_source source(orders(500));
            stream::memory_sink<std::int64_t> sink;
            (void)co_await stream::run(
                here,
                stream::from(source) |
                    stream::call_each(in_flight,
                                      [](coflux::environment&, const order& o) -> coflux::call<std::int64_t> {
                                          if (o.amount % 3 == 0) co_await coflux::yield();
                                          co_return o.amount + 1;
                                      }) |
                    stream::filter([](std::int64_t v) { return v != 7; }) | stream::to(sink),
                stream::job{.max_batch = 64});
            std::vector<std::int64_t> expected;
            for (const order& o : orders(500)) {
                if (o.amount + 1 != 7) expected.push_back(o.amount + 1);
            }
            EXPECT_EQ(sink.values(), expected);
        }
    });
}

TEST(call_each, refuses_0_calls_at_a_time) {
    const auto f = [](coflux::environment&, const int& n) -> coflux::call<int> { co_return n; };
    EXPECT_THROW((void)stream::call_each(0, f), std::invalid_argument);
}

TEST(call_each, keeps_the_order_of_a_key_and_the_bound_of_calls) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(2'000));
        stream::memory_sink<order> sink;
        std::atomic<int> running{0};
        std::atomic<int> most{0};
        std::map<std::uint64_t, std::atomic<int>> of_key;
        for (std::uint64_t k = 0; k != 100; ++k) of_key[k] = 0;
        std::atomic<bool> overlapped{false};
        (void)co_await stream::run(
            here,
            stream::from(source) | stream::by_key(&order::customer) |
                stream::call_each(5,
                                  [&](coflux::environment&, const order& o) -> coflux::call<order> {
                                      if (++of_key.at(o.customer) != 1) overlapped = true;
                                      const int now = ++running;
                                      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                                      co_await coflux::yield();
                                      --running;
                                      --of_key.at(o.customer);
                                      co_return o;
                                  }) |
                stream::to(sink),
            stream::job{.workers = 1, .max_batch = 100});
        EXPECT_FALSE(overlapped);
        EXPECT_LE(most, 5);
        EXPECT_GE(most, 2);
        EXPECT_EQ(sink.values().size(), 2'000U);
    });
}

TEST(call_each, begins_a_region_behind_other_stages) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream::memory_sink<std::int64_t> sink;
        (void)co_await stream::run(
            here, stream::from(source) | stream::by_key(&order::customer) | stream::map([](const order& o) {
                      return o.amount;
                  }) | stream::call_each([](coflux::environment&, std::int64_t v) -> coflux::call<std::int64_t> {
                      co_return v * 2;
                  }) | stream::to(sink),
            stream::job{.workers = 3});
        auto got = sink.values();
        std::ranges::sort(got);
        std::vector<std::int64_t> expected;
        for (std::int64_t i = 0; i != 300; ++i) expected.push_back(i * 2);
        EXPECT_EQ(got, expected);
    });
}

TEST(call_each, keeps_the_slots_of_the_region_before) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(2'000));
        stream::memory_sink<std::int64_t> sink;
        std::atomic<int> running{0};  // a call that has yielded goes on where there is room
        std::atomic<int> most{0};
        (void)co_await stream::run(
            here,
            stream::from(source) | stream::by_key(&order::customer) |
                stream::map([](const order& o) { return o.amount; }) |
                stream::call_each(8,
                                  [&](coflux::environment&, std::int64_t v) -> coflux::call<std::int64_t> {
                                      const int now = ++running;
                                      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                                      co_await coflux::yield();
                                      --running;
                                      co_return v;
                                  }) |
                stream::to(sink),
            stream::job{.workers = 1, .max_batch = 100});
        EXPECT_EQ(most.load(), 8);  // those of one slot go one after the other
        EXPECT_EQ(sink.values().size(), 2'000U);
    });
}

TEST(call_each, tries_again_and_gives_up_as_a_stage_does) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::size_t in_flight : {1, 8}) {
            stream::memory_source source(orders(100));
            stream::memory_sink<std::int64_t> sink;
            std::atomic<int> attempts{0};
            const auto report = co_await stream::run(
                here,
                stream::from(source) |
                    stream::call_each(in_flight,
                                      [&](coflux::environment&, const order& o) -> coflux::call<std::int64_t> {
                                          co_await coflux::yield();
                                          if (o.amount == 10 && ++attempts < 3) throw std::runtime_error("not yet");
                                          if (o.amount == 20) throw std::runtime_error("never");
                                          co_return o.amount;
                                      }) |
                    stream::to(sink),
                stream::job{.on_error = stream::skip_record(), .retries = {.attempts = 2, .first = 1us}});
            EXPECT_EQ(report.skipped, 1U);
            EXPECT_EQ(report.retried, 4U);
            EXPECT_EQ(sink.values().size(), 99U);
            EXPECT_TRUE(std::ranges::is_sorted(sink.values()));
        }
    });
}

TEST(call_each, stops_its_calls) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(100));
        stream::memory_sink<int> sink;
        coflux::manual_reset_event never;
        const auto r = co_await coflux::timeout(
            stream::run(here, stream::from(source) |
                                  stream::call_each(8,
                                                    [&](coflux::environment&, const order&) -> coflux::call<int> {
                                                        co_await never.wait();
                                                        co_return 1;
                                                    }) |
                                  stream::to(sink)),
            10ms);
        EXPECT_TRUE(r.timed_out());
    });
}

}  // namespace
