#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

using stream_test::on_pool;
using stream_test::order;
using stream_test::orders;
using stream_test::total;
namespace stream = coflux::stream;
using sums = std::pair<std::uint64_t, std::int64_t>;

TEST(memory_source, begins_where_it_is_sent) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source<int> source(std::vector<std::vector<int>>{{1, 2, 3}, {4, 5}});
        co_await source.seek(here, {{"0", 2}, {"1", 1}});
        stream::memory_sink<int> sink;
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink));
        auto got = sink.values();
        std::ranges::sort(got);
        EXPECT_EQ(got, (std::vector{3, 5}));
        EXPECT_THROW(co_await source.seek(here, {{"2", 0}}), std::invalid_argument);
        EXPECT_THROW(co_await source.seek(here, {{"1", 3}}), std::invalid_argument);
    });
}

TEST(memory_source, gives_a_run_what_one_before_has_read_and_lost) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(1'000));
        std::size_t seen = 0;
        const auto fails_once = [&](const order& o) {
            if (++seen == 500) throw std::runtime_error("once");
            return o.amount;
        };
        stream::memory_sink<std::int64_t> sink;
        const auto runs = [&](coflux::environment&) -> coflux::call<void> {
            auto& here = co_await coflux::context();
            (void)co_await stream::run(here, stream::from(source) | stream::map(fails_once) | stream::to(sink),
                                       stream::job{.max_batch = 10});
        };
        EXPECT_THROW(co_await runs(here), std::runtime_error);
        const std::size_t before = sink.values().size();
        co_await runs(here);
        EXPECT_EQ(sink.values().size() - before, 1'000U);
    });
}
TEST(memory_source, gives_a_batch_of_any_size) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector{1, 2, 3});
        stream::batch<int> batch;
        EXPECT_TRUE(co_await source.read(here, batch, 1));
        EXPECT_TRUE(co_await source.read(here, batch, SIZE_MAX));
        EXPECT_EQ(batch.size(), 3U);
    });
}

TEST(memory_sink, forgets_what_is_not_committed) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_sink<int> sink;
        std::vector<stream::record<int>> records(2);
        co_await sink.begin(here);
        co_await sink.write(here, records);
        co_await sink.commit(here, {{"0", 2}});
        co_await sink.begin(here);
        co_await sink.write(here, records);
        co_await sink.abort(here);
        EXPECT_EQ(sink.values().size(), 2U);
        const auto at = co_await sink.committed(here);
        EXPECT_EQ(at, (stream::positions{{"0", 2}}));
    });
}

TEST(memory_store, lets_a_job_go_on_after_an_error) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_store kept;
        stream::memory_sink<sums> sink;
        bool fails = true;
        std::size_t runs = 0;
        for (bool done = false; !done; ++runs) {
            stream::memory_source source(orders(3'000));
            try {
                (void)co_await stream::run(
                    here,
                    stream::from(source) | stream::by_key(&order::customer) |
                        stream::fold<total, sums>([&](total& t, const order& o, const auto& emit) {
                            if (o.amount == 299 && t.sum > 600 && std::exchange(fails, false)) {
                                throw std::runtime_error("once");
                            }
                            t.sum += o.amount;
                            emit(sums{o.customer, t.sum});
                        }) |
                        stream::to(sink),
                    stream::job{.workers = 2,
                                .max_batch = 10,
                                .commit_every = std::chrono::milliseconds(1),
                                .delivery = stream::exactly_once,
                                .state = std::ref(kept)});
                done = true;
            } catch (const std::runtime_error&) {}
        }
        EXPECT_EQ(runs, 2U);
        EXPECT_EQ(sink.values().size(), 3'000U);
    });
}

}  // namespace
