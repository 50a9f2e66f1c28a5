#include <coflux/inspect/metrics.hpp>

#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "executor/detail/busy_clock.hpp"
#include "inspect/histogram.hpp"
#include "inspect/metric_source.hpp"
#include "support/iterations.hpp"
#include "support/openmetrics.hpp"

namespace {

using namespace std::chrono_literals;

using coflux::detail::metric_snapshot;
using coflux::detail::metric_source;
using coflux::inspect::for_each_metric;
using coflux::inspect::metric;
using coflux::inspect::metric_family;
using coflux::inspect::metric_type;
using coflux::inspect::openmetrics_text;
using coflux::inspect::write_openmetrics;
using coflux::test::read_openmetrics;

/// The value of the metric of that name whose labels, "name=value" each, are these.
std::optional<double> value_of(std::string_view name, const std::vector<std::string>& labels = {}) {
    std::optional<double> found;
    for_each_metric([&](const metric& m) {
        std::vector<std::string> own;
        for (const auto& l : m.labels) own.push_back(std::string(l.name) + '=' + l.value);
        if (m.family.name == name && own == labels) found = m.value;
    });
    return found;
}
double counted(std::string_view name, std::string executor) {
    return value_of(name, {"executor=" + executor, "worker=0"}).value_or(-1);
}

coflux::fork<void, coflux::run_loop> yields(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
}
coflux::task<void, coflux::run_loop> many_yields(coflux::environment&, int forks, int times) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < forks; ++i) yields(here, times).attach();
    co_return;
}
coflux::task<int, coflux::thread_pool_executor> one_on_a_pool(coflux::environment&) {
    co_await coflux::yield();
    co_return 1;
}
coflux::task<int, coflux::worker_executor> one_on_a_worker(coflux::environment&) {
    co_await coflux::yield();
    co_return 1;
}

constexpr metric_family bananas{"test_bananas", metric_type::counter, "", "Fruit."};
constexpr metric_family weights{"test_weights_grams", metric_type::histogram, "grams",
                                "A \"heavy\" \\ one\nwith lines."};

struct fruit {
    std::uint64_t count = 0;
    void add_metrics(metric_snapshot& to) const { to.add(bananas, count); }
};
struct heavy_fruit {
    void add_metrics(metric_snapshot& to) const {
        to.add_histogram(weights, 12.5, {{0.5, 1}, {1, 2}, {std::numeric_limits<double>::infinity(), 4}},
                         {{"kind", "a\\b\"c\nd"}});
    }
};

// --- the text --------------------------------------------------------------------------------------------------------

TEST(metrics, are_a_text_that_a_strict_reader_takes) {
    const coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 2, .name = "two"});
    const auto families = read_openmetrics(openmetrics_text());
    EXPECT_EQ(families.at("coflux_worker_resumed")
                  .samples.count("coflux_worker_resumed_total{executor=\"two\",worker=\"1\"}"),
              1U);
    EXPECT_EQ(families.at("coflux_executor_workers").samples.at("coflux_executor_workers{executor=\"two\"}"), 2);
    EXPECT_EQ(families.at("coflux_worker_busy_seconds").unit, "seconds");
}

TEST(metrics, escape_what_would_end_a_label_or_a_help) {
    heavy_fruit heavy;
    metric_source source;
    source.enter("", heavy);
    const std::string text = openmetrics_text();
    (void)read_openmetrics(text);
    EXPECT_NE(text.find("# HELP test_weights_grams A \\\"heavy\\\" \\\\ one\\nwith lines.\n"), std::string::npos);
    EXPECT_NE(text.find("{kind=\"a\\\\b\\\"c\\nd\",le=\"0.5\"} 1\n"), std::string::npos);
}

TEST(metrics, write_a_histogram_with_its_limits_its_count_and_its_sum) {
    heavy_fruit heavy;
    metric_source source;
    source.enter("scale", heavy);
    const auto families = read_openmetrics(openmetrics_text());
    const auto& samples = families.at("test_weights_grams").samples;
    const std::string labels = R"({executor="scale",kind="a\\b\"c\nd")";
    EXPECT_EQ(samples.at("test_weights_grams_bucket" + labels + ",le=\"0.5\"}"), 1);
    EXPECT_EQ(samples.at("test_weights_grams_bucket" + labels + ",le=\"1.0\"}"), 2);
    EXPECT_EQ(samples.at("test_weights_grams_bucket" + labels + ",le=\"+Inf\"}"), 4);
    EXPECT_EQ(samples.at("test_weights_grams_count" + labels + "}"), 4);
    EXPECT_EQ(samples.at("test_weights_grams_sum" + labels + "}"), 12.5);
}

TEST(metrics, come_in_pieces_that_are_the_whole_text) {
    std::vector<std::unique_ptr<coflux::worker_executor>> workers;
    for (int i = 0; i < 40; ++i) workers.push_back(std::make_unique<coflux::worker_executor>());
    std::size_t pieces = 0;
    std::size_t largest = 0;
    std::string text;
    write_openmetrics([&](std::string_view piece) {
        ++pieces;
        largest = std::max(largest, piece.size());
        text += piece;
    });
    (void)read_openmetrics(text);
    EXPECT_GT(pieces, 2U);
    EXPECT_LT(largest, 5000U);
}

TEST(metrics, pass_on_what_a_sink_throws_and_can_be_read_again) {
    EXPECT_THROW(write_openmetrics([](std::string_view) { throw 7; }), int);
    EXPECT_THROW(for_each_metric([](const metric&) { throw 7; }), int);
    EXPECT_TRUE(value_of("coflux_frame_slab_bytes").has_value());
}

TEST(metrics, let_a_visitor_make_an_executor_and_read_again) {
    std::size_t inner = 0;
    for_each_metric([&](const metric&) {
        if (inner != 0) return;
        const coflux::run_loop loop;
        for_each_metric([&](const metric&) { ++inner; });
    });
    EXPECT_GT(inner, 3U);
}

// --- the sources -----------------------------------------------------------------------------------------------------

TEST(metrics, of_one_name_are_numbered_and_a_number_is_free_again) {
    fruit one{1};
    fruit two{2};
    metric_source first;
    first.enter("tree", one);
    {
        metric_source second;
        second.enter("tree", two);
        EXPECT_EQ(value_of("test_bananas", {"executor=tree"}), 1);
        EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), 2);
    }
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), std::nullopt);
    metric_source again;
    again.enter("tree", two);
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), 2);
    again.leave();
    again.leave();
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), std::nullopt);
}

TEST(metrics, of_an_executor_that_is_named_as_the_number_of_another_are_not_taken_for_those) {
    fruit fruits[4] = {{1}, {2}, {3}, {4}};
    metric_source plain;
    plain.enter("tree", fruits[0]);
    metric_source second;
    second.enter("tree", fruits[1]);
    metric_source named;
    named.enter("tree#2", fruits[2]);
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), 2);
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2#2"}), 3);
    second.leave();
    named.leave();
    named.enter("tree#2", fruits[2]);
    second.enter("tree", fruits[3]);
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#2"}), 3);
    EXPECT_EQ(value_of("test_bananas", {"executor=tree#3"}), 4);
}

TEST(metrics, are_gone_with_their_executor) {
    {
        const coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 1, .name = "short"});
        EXPECT_EQ(counted("coflux_worker_stolen", "short"), 0);
    }
    EXPECT_EQ(value_of("coflux_executor_workers", {"executor=short"}), std::nullopt);
}

TEST(metrics, stay_with_an_executor_that_is_moved) {
    coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 1, .name = "moved"});
    const coflux::thread_pool_executor other = std::move(pool);
    EXPECT_EQ(value_of("coflux_executor_workers", {"executor=moved"}), 1);
}

TEST(metrics, are_read_while_executors_come_and_go) {
    std::atomic<bool> ends{false};
    std::thread reader([&] {
        while (!ends) (void)read_openmetrics(openmetrics_text());
    });
    for (int i = 0; i < 30; ++i) {
        coflux::thread_pool_executor pool(2);
        coflux::worker_executor worker;
        auto env = coflux::make_environment(pool, worker);
        EXPECT_EQ(one_on_a_pool(env).get() + one_on_a_worker(env).get(), 2);
    }
    ends = true;
    reader.join();
}

TEST(metrics, do_not_rouse_a_worker_that_sleeps) {
    coflux::thread_pool_executor pool(
        coflux::thread_pool_options{.threads = 1, .name = "asleep", .keep_memory = std::chrono::nanoseconds::max()});
    while (counted("coflux_worker_sleeps", "asleep") == 0) std::this_thread::yield();  // for ever: it never parks
    const auto before = counted("coflux_worker_busy_seconds", "asleep");
    for (int i = 0; i < 100; ++i) (void)openmetrics_text();
    EXPECT_EQ(counted("coflux_worker_sleeps", "asleep"), 1);
    EXPECT_EQ(counted("coflux_worker_busy_seconds", "asleep"), before);
}

// --- what is counted -------------------------------------------------------------------------------------------------

TEST(metrics, of_a_loop_count_each_coroutine_that_it_resumes) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    auto root = many_yields(env, 7, 11);
    std::size_t resumed = 0;
    while (const std::size_t n = loop.poll()) resumed += n;
    EXPECT_GE(resumed, 7U * 11U);
    EXPECT_EQ(counted("coflux_worker_resumed", "run_loop"), static_cast<double>(resumed));
    root.get();
}

TEST(metrics, say_how_many_coroutines_wait_for_a_loop) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    auto a = many_yields(env, 0, 0);
    auto b = many_yields(env, 0, 0);
    EXPECT_EQ(value_of("coflux_executor_queue_length", {"executor=run_loop", "queue=outside"}), 2);
    while (loop.poll() != 0) {}
    EXPECT_EQ(value_of("coflux_executor_queue_length", {"executor=run_loop", "queue=outside"}), 0);
    a.get();
    b.get();
}

TEST(metrics, of_a_pool_are_its_counters) {
    coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 1, .name = "counted"});
    auto env = coflux::make_environment(pool);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(one_on_a_pool(env).get(), 1);
    EXPECT_EQ(counted("coflux_worker_injected", "counted"), 10);
    EXPECT_EQ(counted("coflux_worker_resumed", "counted"), static_cast<double>(pool.counters()[0].resumed));
    while (counted("coflux_worker_sleeps", "counted") == 0) std::this_thread::yield();  // for ever: it never parks
}

TEST(metrics, of_a_worker_are_there) {
    coflux::worker_executor worker(coflux::worker_options{.name = "lone"});
    auto env = coflux::make_environment(worker);
    EXPECT_EQ(one_on_a_worker(env).get(), 1);
    while (counted("coflux_worker_resumed", "lone") < 2) std::this_thread::yield();  // its count follows the round
    EXPECT_GT(counted("coflux_worker_busy_seconds", "lone"), 0);
    while (counted("coflux_worker_sleeps", "lone") == 0) std::this_thread::yield();  // for ever: it never parks
}

coflux::fork<void, coflux::run_loop> sleeps_for(coflux::environment&, std::chrono::milliseconds time, int* begun) {
    ++*begun;
    co_await coflux::sleep_for(time);
}
coflux::task<void, coflux::run_loop> sleeps_and_limits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int begun = 0;
    for (int i = 0; i < 5; ++i) co_await sleeps_for(here, 1ms, &begun);
    for (int i = 0; i < 3; ++i) {
        begun = 0;
        auto lasts = sleeps_for(here, 1h, &begun);
        while (begun == 0) co_await coflux::yield();
        co_await coflux::race(sleeps_for(here, 1ms, &begun), std::move(lasts));
    }
}
/// Its sleep begins in the call that makes it.
coflux::fork<void, coflux::noop_executor> sleeps_with_the_service(coflux::environment&,
                                                                  std::chrono::milliseconds time) {
    co_await coflux::sleep_for(time);
}
coflux::task<void, coflux::noop_executor> sleeps_without_a_thread(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await sleeps_with_the_service(here, 1ms);
    auto lasts = sleeps_with_the_service(here, 1h);
    co_await coflux::race(sleeps_with_the_service(here, 1ms), std::move(lasts));
}

TEST(metrics, of_timers_say_how_each_one_that_was_armed_ended) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    auto root = sleeps_and_limits(env);
    while (loop.run_one() != 0 && !root.done()) {}
    root.get();
    EXPECT_EQ(counted("coflux_timers_armed", "run_loop"), 5 + 3 * 2);
    EXPECT_EQ(counted("coflux_timers_fired", "run_loop"), 5 + 3);
    EXPECT_EQ(counted("coflux_timers_cancelled", "run_loop"), 3);
}

TEST(metrics, of_the_timers_that_no_executor_looks_at_are_the_process_s) {
    const auto all = [] {
        return std::vector<double>{value_of("coflux_timers_armed").value_or(0),
                                   value_of("coflux_timers_fired").value_or(0),
                                   value_of("coflux_timers_cancelled").value_or(0)};
    };
    const auto before = all();
    coflux::noop_executor inline_executor;
    auto env = coflux::make_environment(inline_executor);
    sleeps_without_a_thread(env).get();
    const auto after = all();
    EXPECT_EQ(after[0] - before[0], 3);
    EXPECT_EQ(after[1] - before[1], 2);
    EXPECT_EQ(after[2] - before[2], 1);
}

/// A histogram of the first worker.
struct seen_histogram {
    std::vector<coflux::inspect::metric_bucket> buckets;
    double sum = -1;
    std::uint64_t count() const { return buckets.empty() ? 0 : buckets.back().count; }
};
seen_histogram histogram_of(std::string_view name, const std::string& executor) {
    seen_histogram found;
    for_each_metric([&](const metric& m) {
        if (m.family.name == name && m.labels.front().value == executor)
            found = {{m.buckets.begin(), m.buckets.end()}, m.value};
    });
    return found;
}
coflux::task<void, coflux::thread_pool_executor> yields_on_a_pool(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
}

TEST(metrics, of_a_pool_have_histograms_if_it_is_asked_for_them) {
    coflux::thread_pool_executor without(coflux::thread_pool_options{.threads = 1, .name = "plain"});
    coflux::thread_pool_executor with(
        coflux::thread_pool_options{.threads = 1, .name = "measured", .histograms = true});
    auto env = coflux::make_environment(with);
    while (histogram_of("coflux_worker_scheduling_latency_seconds", "measured").count() < 3)
        yields_on_a_pool(env, 1000).get();
    const seen_histogram times = histogram_of("coflux_worker_resume_seconds", "measured");
    ASSERT_EQ(times.buckets.size(), 8U);
    EXPECT_GE(times.count(), 3U);
    EXPECT_GT(times.sum, 0);
    for (std::size_t i = 1; i < times.buckets.size(); ++i) {
        EXPECT_GE(times.buckets[i].count, times.buckets[i - 1].count);
        EXPECT_GT(times.buckets[i].at_most, times.buckets[i - 1].at_most);
    }
    EXPECT_TRUE(histogram_of("coflux_worker_resume_seconds", "plain").buckets.empty());
}

TEST(metrics, are_measured_by_several_workers_that_steal_from_each_other) {
    coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 4, .name = "four", .histograms = true});
    auto env = coflux::make_environment(pool);
    for (int i = 0; i < 20; ++i) {
        auto a = yields_on_a_pool(env, 500);
        auto b = yields_on_a_pool(env, 500);
        auto c = yields_on_a_pool(env, 500);
        a.get();
        b.get();
        c.get();
    }
    EXPECT_GT(histogram_of("coflux_worker_resume_seconds", "four").buckets.size(), 0U);
}

TEST(metrics, of_a_histogram_are_cumulative) {
    struct measured {
        coflux::detail::histogram times;
        void add_metrics(metric_snapshot& to) const { times.add_metrics(to, weights, {}); }
    } of;
    for (const std::uint64_t t : {1U, 1000U, 1001U, 999'999U, 2'000'000'000U}) of.times.add(t);
    metric_source source;
    source.enter("times", of);
    const seen_histogram seen = histogram_of("test_weights_grams", "times");
    std::vector<std::uint64_t> counts;
    for (const auto& b : seen.buckets) counts.push_back(b.count);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{2, 3, 3, 4, 4, 4, 4, 5}));
    EXPECT_EQ(seen.buckets.front().at_most, 1e-6);
    EXPECT_DOUBLE_EQ(seen.sum, (1 + 1000 + 1001 + 999'999 + 2e9) / 1e9);
}

TEST(metrics, of_a_busy_clock_are_the_times_between_begin_and_end) {
    coflux::detail::busy_clock clock;
    clock.end(50);  // it has not begun
    EXPECT_EQ(clock.read(), 0U);
    clock.begin(100);
    clock.end(130);
    EXPECT_EQ(clock.read(), 30U);
    clock.begin(200);
    clock.end(205);
    EXPECT_EQ(clock.read(), 35U);
    const auto begun = coflux::detail::tick_now();
    clock.begin(begun);
    const auto busy = clock.read();
    EXPECT_GE(busy, 35U);
    clock.end(begun);  // less than was answered
    EXPECT_EQ(clock.read(), busy);
}

TEST(metrics, of_a_busy_clock_never_go_back) {
    coflux::detail::busy_clock clock;
    std::atomic<bool> ends{false};
    std::thread reader([&] {
        for (std::uint64_t last = 0; !ends;) {
            const std::uint64_t now = clock.read();
            if (now < last) ADD_FAILURE() << "it was " << last << " and is " << now;
            last = now;
        }
    });
    for (int i = 0; i < 20'000; ++i) {
        clock.begin(coflux::detail::tick_now());
        clock.end(coflux::detail::tick_now());
    }
    ends = true;
    reader.join();
}

// --- fork() ----------------------------------------------------------------------------------------------------------

/// A death test in the fast style is what it is about: a fork() of this process that goes on in the child.
class metrics_death : public testing::Test {
    void SetUp() override {
#if COFLUX_TEST_TSAN
        GTEST_SKIP() << "ThreadSanitizer ends a child that makes threads";
#endif
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

/// The child is made while another thread has the registry's lock.
TEST_F(metrics_death, has_metrics_of_its_own_executors_in_a_child) {
    std::optional<coflux::thread_pool_executor> pool(std::in_place,
                                                     coflux::thread_pool_options{.threads = 1, .name = "parents"});
    std::atomic<bool> read{false};
    std::atomic<bool> ends{false};
    struct slow_source {
        std::atomic<bool>& read;
        std::atomic<bool>& ends;
        void add_metrics(metric_snapshot&) const {
            read = true;
            while (!ends) std::this_thread::yield();
        }
    } slow{read, ends};
    metric_source source;
    source.enter("slow", slow);
    std::thread reader([] { (void)openmetrics_text(); });
    while (!read) std::this_thread::yield();
    EXPECT_EXIT(
        {
            const auto before = value_of("coflux_executor_workers", {"executor=parents"});
            const coflux::worker_executor own(coflux::worker_options{.name = "own"});
            const auto after = value_of("coflux_executor_workers", {"executor=own"});
            pool.reset();
            std::_Exit(before ? 2 : after == 1 ? 0 : 3);
        },
        testing::ExitedWithCode(0), "");
    ends = true;
    reader.join();
    EXPECT_EQ(value_of("coflux_executor_workers", {"executor=parents"}), 1);
}

}  // namespace
