#include <coflux/stream/merge.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::endless_source;
using stream_test::failing_source;
using stream_test::on_pool;
using stream_test::order;
using stream_test::waiting_source;

using either = std::variant<int, std::string>;

static_assert(stream::seekable_source<decltype(stream::merge(std::declval<stream::memory_source<int>&>(),
                                                             std::declval<stream::memory_source<int>>()))>);
static_assert(!stream::seekable_source<decltype(stream::merge(std::declval<stream::memory_source<int>&>(),
                                                              std::declval<waiting_source&>()))>);

TEST(merge, gives_all_of_both_each_in_its_order) {
    std::vector<int> numbers(5000);
    std::vector<std::string> texts(3000);
    for (std::size_t i = 0; i != numbers.size(); ++i) numbers[i] = static_cast<int>(i);
    for (std::size_t i = 0; i != texts.size(); ++i) texts[i] = std::to_string(i);
    for (const std::size_t batch : {1, 7, 1000, 4000}) {
        on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
            stream::memory_source a(numbers);
            stream::memory_sink<either> sink;
            (void)co_await stream::run(here,
                                       stream::from(stream::merge(a, stream::memory_source(texts))) | stream::to_one() |
                                           stream::to(sink),
                                       stream::job{.max_batch = batch});
            std::vector<int> first;
            std::vector<std::string> second;
            for (const either& each : sink.values()) {
                if (each.index() == 0) {
                    first.push_back(std::get<0>(each));
                } else {
                    second.push_back(std::get<1>(each));
                }
            }
            EXPECT_EQ(first, numbers);
            EXPECT_EQ(second, texts);
        });
    }
}

TEST(merge, is_not_held_by_one_that_gives_nothing) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        waiting_source never;
        stream::memory_source some(stream_test::orders(1000));
        stream::job_control control;
        std::size_t seen = 0;
        const auto drain = [&](const auto&) {
            if (++seen == 1000) control.drain();
        };
        stream::memory_sink<std::variant<order, order>> sink;
        const auto report =
            co_await stream::run(here, stream::from(stream::merge(never, some)) | stream::tap(drain) | stream::to(sink),
                                 stream::job{.workers = 1, .control = &control});
        EXPECT_TRUE(report.drained);
        EXPECT_EQ(sink.values().size(), 1000U);
    });
}

TEST(merge, is_not_held_by_one_that_always_gives) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        endless_source always;
        stream::memory_source some(stream_test::orders(5000));
        stream::job_control control;
        std::size_t seen = 0;
        const auto drain = [&](const auto& each) {
            if (each.index() == 1 && ++seen == 5000) control.drain();
        };
        stream::memory_sink<std::variant<order, order>> sink;
        const auto report = co_await stream::run(
            here, stream::from(stream::merge(always, some)) | stream::tap(drain) | stream::to(sink),
            stream::job{.workers = 1, .control = &control});
        EXPECT_TRUE(report.drained);
    });
}

TEST(merge, fails_where_one_fails) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        failing_source fails;
        waiting_source never;
        stream::memory_sink<std::variant<order, order>> sink;
        bool has_failed = false;
        try {
            (void)co_await stream::run(here, stream::from(stream::merge(fails, never)) | stream::to(sink));
        } catch (const std::runtime_error&) {
            has_failed = true;
        }
        EXPECT_TRUE(has_failed);
    });
}

TEST(merge, seeks_both_by_the_names_of_their_partitions) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source a(std::vector{1, 2, 3});
        stream::memory_source b(std::vector<std::vector<int>>{{4, 5}, {6, 7}});
        auto both = stream::merge(a, b);
        EXPECT_EQ(both.partition_name(0), "0/0");
        EXPECT_EQ(both.partition_name(3), "1/1");
        EXPECT_EQ(both.partitions(), (std::vector<std::uint32_t>{0, 1, 3}));
        co_await both.seek(here, {{"0/0", 2}, {"1/1", 1}});
        stream::memory_sink<std::variant<int, int>> sink;
        (void)co_await stream::run(here, stream::from(both) | stream::to(sink));
        std::vector<int> all;
        for (const auto& each : sink.values()) all.push_back(std::visit([](int n) { return n; }, each));
        std::ranges::sort(all);
        EXPECT_EQ(all, (std::vector{3, 4, 5, 7}));
        bool is_refused = false;
        try {
            co_await both.seek(here, {{"2/0", 1}});
        } catch (const std::invalid_argument&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
    });
}

TEST(merge, gives_a_second_run_all_again) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source a(std::vector{1, 2, 3});
        stream::memory_source b(std::vector{4, 5});
        auto both = stream::merge(a, b);
        for (int run = 0; run != 3; ++run) {
            stream::memory_sink<std::variant<int, int>> sink;
            (void)co_await stream::run(here, stream::from(both) | stream::to(sink));
            EXPECT_EQ(sink.values().size(), 5U) << "run " << run;
        }
    });
}

/// Begins where it was committed, as a consumer of a topic does, and cannot be sent anywhere else.
struct committing_numbers {
    using value_type = int;
    std::vector<int> values;
    std::size_t kept = 0;
    std::size_t next = 0;
    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (next == values.size()) {
            next = kept;
            co_return false;
        }
        into.push_back({values[next], {}, static_cast<std::int64_t>(next + 1)});
        ++next;
        co_return true;
    }
    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        for (const auto& each : done) kept = static_cast<std::size_t>(each.next);
        co_return;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};
static_assert(stream::committing_source<committing_numbers> && !stream::seekable_source<committing_numbers>);
/// The same, and it can be sent.
struct sent_numbers : committing_numbers {
    coflux::call<void> seek(coflux::environment&, const stream::positions& to) {
        for (const auto& each : to) next = static_cast<std::size_t>(each.next);
        co_return;
    }
};
static_assert(stream::committing_source<sent_numbers> && stream::seekable_source<sent_numbers>);

// The side that only seeks gives again what a run has read and not committed.
template <typename Committing>
void fails_and_runs_again() {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        Committing first{{std::vector{1, 2, 3}}};
        stream::memory_source second(std::vector{10, 20, 30});
        auto both = stream::merge(first, second);
        stream::memory_sink<int> sink;
        bool fails = true;
        const auto number = [&](const std::variant<int, int>& of) {
            const int n = std::visit([](int each) { return each; }, of);
            if (fails && n == 30) throw std::runtime_error("once");
            return n;
        };
        const auto runs = [&](coflux::environment&) -> coflux::call<void> {
            auto& here = co_await coflux::context();
            (void)co_await stream::run(here,
                                       stream::from(both) | stream::to_one() | stream::map(number) | stream::to(sink));
        };
        EXPECT_THROW(co_await runs(here), std::runtime_error);
        fails = false;
        // As a new consumer would: the run may have ended before it asked for the end.
        if constexpr (!stream::seekable_source<Committing>) first.next = first.kept;
        const std::size_t before = sink.values().size();
        co_await runs(here);
        std::vector<int> again(sink.values().begin() + static_cast<std::ptrdiff_t>(before), sink.values().end());
        std::erase_if(again, [](int n) { return n < 10; });
        EXPECT_EQ(again, (std::vector{10, 20, 30}));
        EXPECT_EQ(first.kept, 3U);
    });
}
TEST(merge, lets_the_side_that_only_seeks_begin_as_it_would_by_itself) {
    fails_and_runs_again<committing_numbers>();
    fails_and_runs_again<sent_numbers>();
}

TEST(merge, tells_which_partitions_have_ended_behind_their_last_record) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source a(std::vector{1, 2, 3});
        stream::memory_source b(std::vector<std::vector<int>>{{4, 5, 6}, {7}});
        std::vector<std::uint32_t> seen;
        auto both = stream::merge(a, b);
        stream::batch<std::variant<int, int>> got;
        co_await coflux::with_scope(here, [&](coflux::task_scope& reading) -> coflux::call<void> {
            auto& inside = co_await coflux::context();
            reading.spawn(
                [](coflux::environment&, coflux::borrowed<decltype(both)> of) -> coflux::fork<void> {
                    auto& here = co_await coflux::context();
                    co_await of->work(here, false);
                },
                coflux::borrowed(both));
            for (bool more = true; more;) {
                more = co_await both.read(inside, got, 1);
                std::array<std::size_t, 4> left{3, 3, 0, 1};
                for (const auto& each : got) --left[each.partition];
                for (const std::uint32_t p : both.ended()) EXPECT_EQ(left[p], 0U) << p;
            }
        });
        seen.assign(both.ended().begin(), both.ended().end());
        std::ranges::sort(seen);
        EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 3}));
    });
}

coflux::async_generator<int> counts(coflux::environment&) {
    for (int i = 0; i != 100; ++i) {
        co_await coflux::this_coroutine::yield();
        co_yield i;
    }
}
TEST(merge, has_sources_that_work_beside_their_reads) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source a(std::vector{1, 2, 3});
        stream::memory_source b(std::vector{4, 5});
        std::size_t got = 0;
        (void)co_await stream::run(here,
                                   stream::from(stream::merge(stream::merge(a, b), stream::generator_source(counts))) |
                                       stream::to_one() | stream::to(stream::for_each([&](const auto&) { ++got; })));
        EXPECT_EQ(got, 105U);
    });
}

}  // namespace
