// Windows in a job: what comes out depends neither on workers nor on batches, nor on a restart.
#include <coflux/stream/window.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/stream/split.hpp>

#include "jobs.hpp"
#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::ms;
using namespace std::chrono_literals;
using stream_test::on_pool;

struct event {
    std::uint64_t key;
    stream::event_time time;
};
using counted = stream::windowed<std::uint64_t, std::uint64_t>;

// Each partition goes forward in its own steps, and up to 10 ms back.
std::vector<std::vector<event>> events(std::uint32_t seed) {
    std::minstd_rand random(seed);
    std::vector<std::vector<event>> partitions(3);
    for (std::size_t p = 0; p != partitions.size(); ++p) {
        std::int64_t now = -100;
        for (int i = 0; i != 500; ++i) {
            now += static_cast<std::int64_t>(random() % (p + 2));
            partitions[p].push_back({random() % 5, ms(now - static_cast<std::int64_t>(random() % 11))});
        }
    }
    return partitions;
}

std::vector<counted> expected_of(const std::vector<std::vector<event>>& partitions, std::chrono::milliseconds size,
                                 std::chrono::milliseconds slide) {
    std::map<std::pair<std::uint64_t, stream::event_time>, std::uint64_t> counts;
    for (const auto& events : partitions) {
        for (const event& e : events) {
            for (auto begin = ms(0) - 1000 * slide; begin <= e.time; begin += slide) {
                if (e.time < begin + size) ++counts[{e.key, begin}];
            }
        }
    }
    std::vector<counted> all;
    for (const auto& [at, n] : counts) all.push_back({at.first, at.second, at.second + size, n});
    return all;
}

std::vector<counted> sorted(std::vector<counted> all) {
    std::ranges::sort(all, {}, [](const counted& c) { return std::pair(c.key, c.begin); });
    return all;
}

TEST(window_job, gives_the_same_whatever_workers_and_batches) {
    const auto partitions = events(1);
    const auto expected = expected_of(partitions, 20ms, 5ms);
    for (const std::size_t workers : {1, 2, 3}) {
        for (const std::size_t batch : {1, 7, 100}) {
            on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
                stream::memory_source source(partitions);
                stream::memory_sink<counted> sink;
                const auto report = co_await stream::run(
                    here,
                    stream::from(source) | stream::event_times(&event::time) | stream::by_key(&event::key) |
                        stream::window(stream::sliding(20ms, 5ms), stream::count()) | stream::to(sink),
                    stream::job{.workers = workers, .max_batch = batch, .lateness = 10ms});
                EXPECT_EQ(report.late, 0U);
                EXPECT_EQ(sorted(sink.values()), expected) << workers << " workers, batches of " << batch;
            });
        }
    }
}

TEST(window_job, goes_on_where_it_was_drained) {
    const auto partitions = events(2);
    const auto expected = expected_of(partitions, 20ms, 5ms);
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(partitions);
        stream::memory_sink<counted> sink;
        stream::memory_store store;
        int seen = 0;
        int runs = 0;
        for (bool drained = true; drained; ++runs) {
            stream::job_control control;
            const auto drain = [&](const event&) {
                if (++seen % 400 == 0) control.drain();
            };
            const auto report = co_await stream::run(
                here,
                stream::from(source) | stream::event_times(&event::time) | stream::tap(drain) |
                    stream::by_key(&event::key) | stream::window(stream::sliding(20ms, 5ms), stream::count()) |
                    stream::to(sink),
                stream::job{
                    .workers = 2, .max_batch = 50, .lateness = 10ms, .state = std::ref(store), .control = &control});
            drained = report.drained;
        }
        EXPECT_GT(runs, 1);
        EXPECT_EQ(sorted(sink.values()), expected);
    });
}

TEST(window_job, gives_the_most_of_each_window_with_those_that_tie) {
    using most = stream::windowed<stream::event_time, std::vector<counted>>;
    const auto partitions = events(3);
    std::map<stream::event_time, std::vector<counted>> expected;
    for (const counted& c : expected_of(partitions, 20ms, 5ms)) {
        auto& best = expected[c.end];
        if (!best.empty() && best[0].value < c.value) best.clear();
        if (best.empty() || best[0].value == c.value) best.push_back(c);
    }
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(partitions);
        stream::memory_sink<most> sink;
        (void)co_await stream::run(
            here,
            stream::from(source) | stream::event_times(&event::time) | stream::by_key(&event::key) |
                stream::window(stream::sliding(20ms, 5ms), stream::count()) | stream::by_key(&counted::end) |
                stream::window(stream::tumbling(5ms), stream::top(1, &counted::value)) | stream::to(sink),
            stream::job{.workers = 2, .lateness = 10ms});
        EXPECT_EQ(sink.values().size(), expected.size());
        for (const most& each : sink.values()) EXPECT_EQ(sorted(each.value), expected[each.key]);
    });
}

TEST(window_job, counts_what_is_late_or_takes_it_to_a_sink_of_its_own) {
    const std::vector<event> late = {{1, ms(0)}, {1, ms(100)}, {1, ms(5)}};
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(late);
        stream::memory_sink<counted> sink;
        const auto report = co_await stream::run(
            here,
            stream::from(source) | stream::event_times(&event::time) | stream::by_key(&event::key) |
                stream::window(stream::tumbling(10ms), stream::count()) | stream::to(sink),
            stream::job{.workers = 1, .max_batch = 1});
        EXPECT_EQ(report.late, 1U);

        stream::memory_source again(late);
        stream::memory_sink<counted> results;
        stream::memory_sink<stream::late_record<event>> rest;
        (void)co_await stream::run(here,
                                   stream::from(again) | stream::event_times(&event::time) |
                                       stream::by_key(&event::key) |
                                       stream::window(stream::tumbling(10ms), stream::count(),
                                                      stream::window_options{.late = stream::late_records{}}) |
                                       stream::to(stream::split(results, rest)),
                                   stream::job{.workers = 1, .max_batch = 1});
        EXPECT_EQ(results.values(), (std::vector<counted>{{1, ms(0), ms(10), 1}, {1, ms(100), ms(110), 1}}));
        EXPECT_EQ(rest.values().size(), 1U);
    });
}

}  // namespace
