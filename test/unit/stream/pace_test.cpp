// The acts of a job by time, in virtual time.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "in_simulation.hpp"

namespace {

using namespace std::chrono_literals;
namespace stream = coflux::stream;
using stream::event_time;
using stream_test::in_simulation;

/// Gives a record of a partition at each moment of a list, and then ends, or waits for ever.
struct timed_source {
    struct step {
        std::chrono::milliseconds at;
        std::uint32_t partition;
        std::chrono::seconds time;
    };
    using value_type = int;
    std::vector<step> steps;
    bool ends = true;
    std::size_t next = 0;
    std::chrono::steady_clock::time_point begin = coflux::clock::now();
    coflux::manual_reset_event never{};

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (next == steps.size()) {
            if (!ends) co_await never.wait();
            co_return false;
        }
        co_await coflux::sleep_until(begin + steps[next].at);
        const step& s = steps[next++];
        into.push_back({static_cast<int>(next), event_time(s.time), static_cast<std::int64_t>(next), s.partition});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return std::to_string(p); }
};

/// When each output came.
struct timing_sink {
    std::vector<std::pair<int, std::chrono::milliseconds>> got{};
    std::chrono::steady_clock::time_point begin = coflux::clock::now();
    coflux::call<void> write(coflux::environment&, std::span<stream::record<int>> records) {
        for (const auto& r : records) {
            got.emplace_back(r.value,
                             std::chrono::duration_cast<std::chrono::milliseconds>(coflux::clock::now() - begin));
        }
        co_return;
    }
    coflux::call<void> flush(coflux::environment&) { co_return; }
};

TEST(pace, a_record_waits_for_no_other_where_its_source_has_none) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        timed_source source{{{10ms, 0, 1s}, {500ms, 0, 2s}}};
        timing_sink sink;
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink), stream::job{.workers = 2});
        EXPECT_EQ(sink.got, (std::vector<std::pair<int, std::chrono::milliseconds>>{{1, 10ms}, {2, 500ms}}));
    });
}

TEST(pace, a_job_commits_while_its_source_waits) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        timed_source source{{{10ms, 0, 1s}}, false};
        timing_sink sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream::job_control> job) -> coflux::fork<void> {
            co_await coflux::sleep_for(1s);
            EXPECT_EQ(job->snapshot().commits, 0U);
            co_await coflux::sleep_for(1s);
            EXPECT_EQ(job->snapshot().commits, 1U);
            co_await coflux::sleep_for(10s);
            EXPECT_EQ(job->snapshot().commits, 1U);  // nothing has come since
            job->drain();
        };
        auto watching = watch(here, coflux::borrowed(control));
        const auto report = co_await stream::run(here, stream::from(source) | stream::to(sink),
                                                 stream::job{.commit_every = 1500ms, .control = &control});
        EXPECT_TRUE(report.drained);
        EXPECT_EQ(report.commits, 2U);
        co_await std::move(watching);
    });
}

/// Gives the watermark each time that it moves.
template <typename Next>
class watermark_operator : public stream::detail::stage_operator<Next> {
public:
    using stream::detail::stage_operator<Next>::stage_operator;
    static constexpr bool has_state = true;
    template <typename In>
    void process(stream::place&, In&) {}
    void advance(stream::place& at, event_time watermark) {
        int seconds = watermark == stream::end_of_time
                          ? -1
                          : static_cast<int>(
                                std::chrono::duration_cast<std::chrono::seconds>(watermark.time_since_epoch()).count());
        this->next().process(at, seconds);
        this->next().advance(at, watermark);
    }
};
struct watermarks_seen {
    using stage_type = watermarks_seen;
    template <typename In, typename Key>
    using output = int;
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return watermark_operator<Next>(std::move(next));
    }
};

/// The first partition has one record.
struct half_ended_source : timed_source {
    std::vector<std::uint32_t> over{};
    coflux::call<bool> read(coflux::environment& here, stream::batch<int>& into, std::size_t most) {
        if (next == 0) over.push_back(0);
        return timed_source::read(here, into, most);
    }
    [[nodiscard]] std::span<const std::uint32_t> ended() const noexcept { return over; }
};
static_assert(stream::ending_source<half_ended_source>);
TEST(pace, a_partition_that_has_ended_holds_the_watermark_no_longer) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        half_ended_source source{{{{0ms, 0, 10s}, {1ms, 1, 100s}, {2ms, 1, 200s}}, true}};
        timing_sink sink;
        (void)co_await stream::run(here, stream::from(source) | stream::to_one() | watermarks_seen() | stream::to(sink),
                                   stream::job{.idle_after = 10s});
        std::vector<int> seen;
        for (const auto& [watermark, when] : sink.got) seen.push_back(watermark);
        EXPECT_EQ(seen, (std::vector{10, 100, 200, -1}));
    });
}

TEST(pace, an_idle_partition_holds_the_watermark_for_a_time_and_no_longer) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        timed_source source{{{0ms, 0, 10s}, {1ms, 1, 100s}, {2ms, 1, 200s}}, false};
        timing_sink sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream::job_control> job) -> coflux::fork<void> {
            co_await coflux::sleep_for(1min);
            job->drain();
        };
        auto watching = watch(here, coflux::borrowed(control));
        (void)co_await stream::run(here, stream::from(source) | stream::to_one() | watermarks_seen() | stream::to(sink),
                                   stream::job{.idle_after = 10s, .control = &control});
        co_await std::move(watching);
        EXPECT_GE(sink.got.size(), 2U);
        if (sink.got.size() < 2) co_return;
        EXPECT_EQ(sink.got.front().first, 10);
        EXPECT_LT(sink.got.front().second, 10s);
        EXPECT_EQ(sink.got.back().first, 200);
        EXPECT_GE(sink.got.back().second, 10s);
        EXPECT_LE(sink.got.back().second, 31s);
    });
}

TEST(pace, the_end_of_the_source_is_the_end_of_time) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        timed_source source{{{0ms, 0, 10s}, {1ms, 1, 100s}}};
        timing_sink sink;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::to_one() | watermarks_seen() | stream::to(sink));
        EXPECT_EQ(sink.got.back().first, -1);
    });
}

}  // namespace
