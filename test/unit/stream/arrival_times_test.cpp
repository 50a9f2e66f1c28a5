#include <coflux/stream/arrival_times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "in_simulation.hpp"

namespace arrival_times_test {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using result = stream::windowed<int, std::uint64_t>;

/// Gives 1, 2, 3, … at these moments, and then waits for ever.
struct timed_source {
    using value_type = int;
    std::vector<std::chrono::milliseconds> moments;
    std::size_t next = 0;
    coflux::clock::time_point begin = coflux::clock::now();
    coflux::manual_reset_event never{};

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (next == moments.size()) co_await never.wait();
        co_await coflux::sleep_until(begin + moments[next]);
        ++next;
        into.push_back({static_cast<int>(next), {}, static_cast<std::int64_t>(next)});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "only"; }
};

/// Keeps each output with its time, and how many are committed.
struct timing_sink {
    std::vector<std::pair<result, stream::event_time>> got{};
    std::size_t flushed = 0;
    coflux::call<void> write(coflux::environment&, std::span<stream::record<result>> records) {
        for (const auto& r : records) got.emplace_back(r.value, stream::detail::time_of_day());
        co_return;
    }
    coflux::call<void> flush(coflux::environment&) {
        flushed = got.size();
        co_return;
    }
};

}  // namespace arrival_times_test

namespace {

using namespace arrival_times_test;

TEST(arrival_times, let_windows_end_by_the_clock_while_nothing_comes) {
    stream_test::in_simulation(
        [](coflux::environment& here) -> coflux::call<void> {
            timed_source source{{100ms, 150ms, 1'700ms, 9'300ms}};
            timing_sink sink;
            stream::job_control control;
            const auto begin = stream::detail::time_of_day();
            auto watch = [](coflux::environment&, coflux::borrowed<stream::job_control> job,
                            coflux::borrowed<timing_sink> into) -> coflux::fork<void> {
                co_await coflux::sleep_for(5s);
                EXPECT_EQ(into->flushed, into->got.size());  // windows that ended without a record are committed
                EXPECT_GE(into->got.size(), 2U);
                co_await coflux::sleep_for(10s);
                job->drain();
            };
            auto watching = watch(here, coflux::borrowed(control), coflux::borrowed(sink));
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::arrival_times(100ms) |
                                           stream::by_key([](int) { return 0; }) |
                                           stream::window(stream::tumbling(1s), stream::count()) | stream::to(sink),
                                       stream::job{.workers = 2, .control = &control});
            co_await std::move(watching);
            std::uint64_t all = 0;
            for (const auto& [window, at] : sink.got) {
                all += window.value;
                EXPECT_EQ(window.end - window.begin, 1s);
                EXPECT_GE(at, window.end);
                EXPECT_LE(at, window.end + 110ms);
                std::uint64_t expected = 0;
                for (const auto moment : source.moments) {
                    expected += begin + moment >= window.begin && begin + moment < window.end ? 1 : 0;
                }
                EXPECT_EQ(window.value, expected);
            }
            EXPECT_EQ(all, 4U);
            EXPECT_EQ(control.snapshot().late, 0U);
        },
        10);
}

TEST(arrival_times, let_timers_fire_by_the_clock) {
    stream_test::in_simulation([](coflux::environment& here) -> coflux::call<void> {
        timed_source source{{100ms, 400ms, 450ms}};
        timing_sink sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream::job_control> job) -> coflux::fork<void> {
            co_await coflux::sleep_for(3s);
            job->drain();
        };
        auto watching = watch(here, coflux::borrowed(control));
        // Half a second of quiet.
        const auto begin = stream::detail::time_of_day();
        const auto on_value = [](std::int64_t& count, int, stream::key_timer& timer, const auto&) {
            ++count;
            timer.set(timer.now() + 500ms);
        };
        const auto on_timer = [](std::int64_t& count, stream::key_timer& timer, const auto& emit) {
            emit(result{0, timer.now(), timer.now(), static_cast<std::uint64_t>(count)});
        };
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::arrival_times(100ms) |
                                       stream::by_key([](int) { return 0; }) |
                                       stream::timed_fold<std::int64_t, result>(on_value, on_timer) | stream::to(sink),
                                   stream::job{.workers = 1, .control = &control});
        co_await std::move(watching);
        EXPECT_EQ(sink.got.size(), 1U);
        if (sink.got.size() != 1) co_return;
        EXPECT_EQ(sink.got[0].first.value, 3U);
        EXPECT_GE(sink.got[0].second, begin + 950ms);
        EXPECT_LE(sink.got[0].second, begin + 1'060ms);
    });
}

TEST(arrival_times, refuse_a_time_that_is_not_positive) {
    EXPECT_THROW((void)stream::arrival_times(0s), std::invalid_argument);
}

}  // namespace
