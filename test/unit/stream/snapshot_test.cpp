#include <coflux/coflux.hpp>
#include <coflux/stream/snapshot.hpp>
#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "in_simulation.hpp"
#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using stream::event_time;
using stream_test::in_simulation;
using stream_test::on_pool;

struct reading {
    int value;
    event_time time;
};

reading at(int value, std::chrono::seconds time) {
    return {value, event_time(time)};
}

/// Gives a record of each of two partitions, by turns, each second: so many of each.
struct second_source {
    using value_type = int;
    std::int64_t count;
    std::int64_t given = 0;

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (given == 2 * count) co_return false;
        co_await coflux::sleep_for(1s);
        const std::int64_t n = given++;
        into.push_back({static_cast<int>(n),
                        event_time(std::chrono::seconds(n)),
                        n / 2 + 1,
                        static_cast<std::uint32_t>(n % 2),
                        0,
                        {}});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return p == 0 ? "even" : "odd"; }
    [[nodiscard]] std::vector<stream::partition_extent> measure() const {
        return {{0, (given + 1) / 2, count}, {1, given / 2, count}};
    }
    [[nodiscard]] bool is_bounded() const { return true; }
};
static_assert(stream::measured_source<second_source>);

/// Takes 7 ms for a write.
struct slow_sink {
    coflux::call<void> write(coflux::environment&, std::span<stream::record<int>>) { co_await coflux::sleep_for(7ms); }
    coflux::call<void> flush(coflux::environment&) { co_return; }
};

TEST(snapshot, counts_for_each_partition_and_in_all) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}, {10, 11, 12}});
        stream::memory_sink<int> sink;
        stream::memory_sink<stream::dead_letter> dead;
        stream::job_control control;
        const auto fails = [](int v) {
            if (v == 3 || v == 11 || v == 12) throw std::runtime_error("no");
            return v;
        };
        const auto report = co_await stream::run(here,
                                                 stream::from(source) | stream::by_key([](int v) { return v; }) |
                                                     stream::map(fails) | stream::to(sink),
                                                 stream::job{.workers = 2,
                                                             .max_batch = 3,
                                                             .on_error = stream::dead_letters(dead),
                                                             .retries = {.attempts = 2, .first = 1ms},
                                                             .control = &control});
        const stream::job_snapshot s = control.snapshot();
        EXPECT_EQ(s.records, 11U);
        EXPECT_EQ(s.read, 11U);
        EXPECT_EQ(s.outputs, 8U);
        EXPECT_EQ(s.failed, 9U);
        EXPECT_EQ(s.retried, 6U);
        EXPECT_EQ(s.dead, 3U);
        EXPECT_EQ(report.failed, 9U);
        EXPECT_EQ(s.lag, 0U);
        EXPECT_TRUE(s.is_bounded);
        EXPECT_EQ(s.queued, (std::vector<std::uint64_t>{0, 0}));
        EXPECT_EQ(s.workers.size(), 2U);
        EXPECT_EQ(s.partitions.size(), 2U);
        if (s.partitions.size() != 2) co_return;
        EXPECT_EQ(s.partitions[0].name, "0");
        EXPECT_EQ(s.partitions[0].records, 8U);
        EXPECT_EQ(s.partitions[0].failed, 3U);
        EXPECT_EQ(s.partitions[0].retried, 2U);
        EXPECT_EQ(s.partitions[0].dead, 1U);
        EXPECT_EQ(s.partitions[1].name, "1");
        EXPECT_EQ(s.partitions[1].records, 3U);
        EXPECT_EQ(s.partitions[1].failed, 6U);
        EXPECT_EQ(s.partitions[1].dead, 2U);
        EXPECT_EQ(s.partitions[1].lag, 0U);
    });
}

/// Gives all its records in one batch, whose partitions change.
struct mixed_source {
    using value_type = int;
    bool is_read = false;

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (std::exchange(is_read, true)) co_return false;
        constexpr std::uint32_t partitions[] = {0, 0, 1, 0, 1, 1, 1, 2};
        std::int64_t read[] = {0, 0, 0};
        int value = 0;
        for (const std::uint32_t p : partitions) {
            into.push_back({value, event_time(std::chrono::seconds(value)), ++read[p], p, 0, {}});
            ++value;
        }
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return std::to_string(p); }
};

TEST(snapshot, counts_partitions_of_which_a_batch_has_records_by_turns) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        mixed_source source;
        stream::memory_sink<int> sink;
        stream::job_control control;
        // The first one of a run, one within a run, and the last one.
        const auto fails = [](int v) -> bool {
            if (v == 2 || v == 5 || v == 7) throw std::runtime_error("no");
            return true;
        };
        (void)co_await stream::run(here, stream::from(source) | stream::filter(fails) | stream::by_key([](int v) {
                                             return v;
                                         }) | stream::to(sink),
                                   stream::job{.workers = 1, .on_error = stream::skip_record(), .control = &control});
        EXPECT_EQ(sink.values(), (std::vector<int>{0, 1, 3, 4, 6}));
        const stream::job_snapshot s = control.snapshot();
        EXPECT_EQ(s.partitions.size(), 3U);
        if (s.partitions.size() != 3) co_return;
        EXPECT_EQ(s.partitions[0].records, 3U);
        EXPECT_EQ(s.partitions[0].watermark, event_time(3s));
        EXPECT_EQ(s.partitions[1].records, 4U);
        EXPECT_EQ(s.partitions[1].skipped, 2U);
        EXPECT_EQ(s.partitions[1].watermark, event_time(6s));
        EXPECT_EQ(s.partitions[2].records, 1U);
        EXPECT_EQ(s.partitions[2].skipped, 1U);
    });
}

TEST(snapshot, tells_the_lag_and_the_watermark_of_a_job_that_runs) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        second_source source{10};
        stream::memory_sink<int> sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream::job_control> job) -> coflux::fork<void> {
            co_await coflux::sleep_for(500ms);
            stream::job_snapshot s = job->snapshot();
            EXPECT_EQ(s.lag, 20U);
            EXPECT_EQ(s.watermark, stream::no_time);
            co_await coflux::sleep_for(7s);  // 7 were read: 4 of the first partition, of times 0 to 6 seconds
            s = job->snapshot();
            EXPECT_EQ(s.read, 7U);
            EXPECT_EQ(s.records, 7U);
            EXPECT_EQ(s.lag, 13U);
            EXPECT_EQ(s.watermark, event_time(4s));
            EXPECT_EQ(s.partitions.size(), 2U);
            if (s.partitions.size() != 2) co_return;
            EXPECT_EQ(s.partitions[0].name, "even");
            EXPECT_EQ(s.partitions[0].lag, 6U);
            EXPECT_EQ(s.partitions[0].watermark, event_time(5s));
            EXPECT_EQ(s.partitions[1].lag, 7U);
            EXPECT_EQ(s.partitions[1].watermark, event_time(4s));
        };
        auto watching = watch(here, coflux::borrowed(control));
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink),
                                   stream::job{.workers = 2, .linger = 100ms, .lateness = 1s, .control = &control});
        co_await std::move(watching);
    });
}

TEST(snapshot, tells_how_long_reads_steps_and_writes_take) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        second_source source{20};
        slow_sink sink;
        stream::job_control control;
        const auto look_up = [](coflux::environment&, int v) -> coflux::call<int> {
            co_await coflux::sleep_for(3ms);
            co_return v;
        };
        (void)co_await stream::run(here, stream::from(source) | stream::call_each(1, look_up) | stream::to(sink),
                                   stream::job{.workers = 1, .linger = 100ms, .control = &control});
        const stream::job_snapshot s = control.snapshot();
        EXPECT_EQ(s.read_time, (stream::batch_times{3, 3, 3s}));  // of 40: the first one, the 17th and the 33rd
        EXPECT_EQ(s.step_time.of_batch(), 3ms);
        EXPECT_EQ(s.step_time.of_record(), 3ms);
        EXPECT_EQ(s.write_time, (stream::batch_times{3, 3, 21ms}));
        EXPECT_EQ(stream::batch_times().of_batch(), 0s);
        EXPECT_EQ(stream::batch_times().of_record(), 0s);
    });
}

TEST(snapshot, tells_the_depth_of_the_queues) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(stream_test::orders(1'000));
        stream_test::gated_sink<stream_test::order> sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream_test::gated_sink<stream_test::order>> into,
                        coflux::borrowed<stream::job_control> job) -> coflux::fork<void> {
            co_await into->has_begun.wait();
            co_await coflux::sleep_for(500ms);
            // All batches of both links are on their way: one of them is with the sink, one with the worker.
            EXPECT_EQ(job->snapshot().queued, (std::vector<std::uint64_t>{4, 4}));
            into->gate.set();
        };
        auto watching = watch(here, coflux::borrowed(sink), coflux::borrowed(control));
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink),
                                   stream::job{.workers = 1, .max_batch = 10, .queue_batches = 4, .control = &control});
        co_await std::move(watching);
        EXPECT_EQ(control.snapshot().queued, (std::vector<std::uint64_t>{0, 0}));
    });
}

TEST(snapshot, counts_what_is_late_for_its_partition) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<std::vector<reading>>{
            {at(1, 10s), at(2, 20s), at(3, 30s)}, {at(4, 40s), at(5, 50s), at(6, 1s), at(7, 2s), at(8, 60s)}});
        stream::memory_sink<stream::windowed<stream::detail::no_key, std::uint64_t>> sink;
        stream::job_control control;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::event_times(&reading::time) | stream::to_one() |
                                       stream::window(stream::tumbling(5s), stream::count()) | stream::to(sink),
                                   stream::job{.max_batch = 1, .control = &control});
        const stream::job_snapshot s = control.snapshot();
        EXPECT_EQ(s.late, 2U);
        EXPECT_EQ(s.partitions.size(), 2U);
        if (s.partitions.size() != 2) co_return;
        EXPECT_EQ(s.partitions[0].late, 0U);
        EXPECT_EQ(s.partitions[1].late, 2U);
    });
}

TEST(snapshot, names_a_hot_key_and_a_hot_partition) {
    in_simulation(
        [](coflux::environment& here) -> coflux::call<void> {
            std::vector<std::vector<std::string>> values(2);
            for (int i = 0; i != 60'000; ++i) values[0].push_back(i % 10 < 7 ? "ann" : std::to_string(i));
            values[1].resize(20'000, "ann");
            stream::memory_source source(std::move(values));
            stream::memory_sink<std::string> sink;
            stream::job_control control;
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key([](const std::string& s) { return s; }) |
                                           stream::map([](const std::string& s) { return s; }) | stream::to(sink),
                                       stream::job{.workers = 2, .control = &control});
            const stream::job_snapshot s = control.snapshot();
            EXPECT_EQ(s.hot_keys.size(), 1U);
            EXPECT_EQ(s.partitions.size(), 2U);
            if (s.hot_keys.size() != 1 || s.partitions.size() != 2) co_return;
            EXPECT_EQ(s.hot_keys[0].key, "ann");
            EXPECT_EQ(s.hot_keys[0].region, 1U);
            EXPECT_NEAR(s.hot_keys[0].share, 62'000.0 / 80'000, 0.05);
            EXPECT_EQ(s.partitions[0].share, 0.75);
            EXPECT_EQ(s.partitions[1].share, 0.25);
        },
        3);
}

TEST(snapshot, counts_anew_in_each_run) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::job_control control;
        for (const std::size_t n : {300U, 20U}) {
            stream::memory_source source(stream_test::orders(n));
            stream::memory_sink<stream_test::order> sink;
            const auto report = co_await stream::run(here, stream::from(source) | stream::to(sink),
                                                     stream::job{.workers = n / 10, .control = &control});
            EXPECT_EQ(report.records, n);
            EXPECT_EQ(control.snapshot().partitions.at(0).records, n);
            EXPECT_EQ(control.snapshot().workers.size(), n / 10);
        }
    });
}

TEST(snapshot, of_a_control_without_a_run_is_empty) {
    const stream::job_control control;
    const stream::job_snapshot s = control.snapshot();
    EXPECT_EQ(s.records, 0U);
    EXPECT_EQ(s.lag, std::nullopt);
    EXPECT_TRUE(s.queued.empty());
    EXPECT_TRUE(s.partitions.empty());
    EXPECT_TRUE(s.workers.empty());
}

TEST(snapshot, may_be_taken_from_any_thread_while_the_job_runs) {
    constexpr std::size_t partitions = 40;
    std::vector<std::vector<stream_test::order>> all(partitions);
    for (std::size_t p = 0; p != partitions; ++p) all[p] = stream_test::orders(500);
    coflux::worker_executor elsewhere;
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool, elsewhere);
    auto job = [](coflux::environment&, coflux::borrowed<std::vector<std::vector<stream_test::order>>> values)
        -> coflux::task<void, coflux::thread_pool_executor> {
        auto& here = co_await coflux::context();
        stream::memory_source source(*values);
        stream::memory_sink<std::int64_t> sink;
        stream::job_control control;
        auto watch = [](coflux::environment&,
                        coflux::borrowed<stream::job_control> of) -> coflux::fork<void, coflux::worker_executor> {
            std::uint64_t before = 0;
            for (;;) {
                const stream::job_snapshot s = of->snapshot();
                EXPECT_GE(s.records, before);
                before = s.records;
                std::uint64_t of_partitions = 0;
                for (const auto& p : s.partitions) {
                    EXPECT_FALSE(p.name.empty());
                    EXPECT_LE(p.records, 500U);
                    of_partitions += p.records;
                }
                EXPECT_LE(of_partitions, partitions * 500);
                if (s.commits != 0 && of_partitions == partitions * 500) break;
                co_await coflux::yield();
            }
        };
        auto watching = watch(here, coflux::borrowed(control));
        (void)co_await stream::run(
            here,
            stream::from(source) | stream::by_key(&stream_test::order::customer) |
                stream::map([](const stream_test::order& o) {
                    if (o.amount == 7) throw std::runtime_error("seven");
                    return o.amount;
                }) |
                stream::to(sink),
            stream::job{
                .workers = 3, .max_batch = 50, .linger = 1us, .on_error = stream::skip_record(), .control = &control});
        co_await std::move(watching);
    };
    job(env, coflux::borrowed(all)).get();
}

}  // namespace
