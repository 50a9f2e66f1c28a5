// Coroutines beside a job as its ends: channels and generators.
#include <coflux/stream/receiver_source.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/channel/mpsc.hpp>
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::environment;
using pool = coflux::thread_pool_executor;
using values = std::vector<int>;
using channel = coflux::channel<int[4]>;

template <typename Block>
void on_pool(Block block) {
    pool on{2};
    auto env = coflux::make_environment(on);
    [](environment&, borrowed<Block> b) -> coflux::task<void, pool> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    }(env, borrowed(block))
                                               .get();
}
values numbers(int n) {
    values all;
    for (int i = 0; i != n; ++i) all.push_back(i);
    return all;
}

coflux::fork<void> sends(environment&, borrowed<channel> to, int n) {
    for (int i = 0; i != n; ++i) (void)co_await to->send(i);
    to->close();
}
TEST(receiver_source, gives_all_that_is_sent_to_a_channel) {
    on_pool([](environment& here) -> coflux::call<void> {
        channel ch;
        stream::memory_sink<int> sink;
        co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
            auto& inside = co_await coflux::context();
            scope.spawn(sends, borrowed(ch), 1000);
            const auto report = co_await stream::run(
                inside, stream::from(stream::receiver_source(ch)) | stream::to(sink), stream::job{.max_batch = 10});
            EXPECT_EQ(report.records, 1000U);
        });
        EXPECT_EQ(sink.values(), numbers(1000));
    });
}

TEST(receiver_source, takes_a_batch_of_what_is_there) {
    on_pool([](environment& here) -> coflux::call<void> {
        auto [tx, rx] = coflux::make_mpsc<int>(8);
        for (int i = 0; i != 5; ++i) EXPECT_TRUE(tx.try_send(i));
        stream::receiver_source from(std::move(rx));
        stream::batch<int> batch;
        EXPECT_TRUE(co_await from.read(here, batch, 3));
        EXPECT_EQ(batch.size(), 3U);
        EXPECT_TRUE(co_await from.read(here, batch, 10));
        EXPECT_EQ(batch.size(), 5U);
        EXPECT_EQ(batch[4].next, 5);
        EXPECT_EQ(from.partition_name(0), "0");
        tx.close();
        EXPECT_FALSE(co_await from.read(here, batch, 10));
    });
}

coflux::fork<values> receives(environment&, borrowed<channel> from) {
    values all;
    while (auto v = co_await from->receive()) all.push_back(*v);
    co_return all;
}
TEST(receiver_source, has_a_sink_that_waits_for_room_in_a_channel) {
    on_pool([](environment& here) -> coflux::call<void> {
        channel ch;
        auto all = receives(here, borrowed(ch));
        stream::memory_source source(numbers(1000));
        (void)co_await stream::run(here, stream::from(source) | stream::to(stream::sender_sink(ch)));
        ch.close();
        EXPECT_EQ(co_await std::move(all), numbers(1000));
    });
}
TEST(receiver_source, has_a_sink_that_fails_where_the_channel_is_closed) {
    on_pool([](environment& here) -> coflux::call<void> {
        channel ch;
        ch.close();
        std::string error;
        try {
            (void)co_await stream::run(here, stream::from(stream::memory_source(numbers(3))) |
                                                 stream::to(stream::sender_sink(ch)));
        } catch (const std::runtime_error& e) {
            error = e.what();
        }
        EXPECT_EQ(error, "coflux: the channel that a stream job sends to is closed");
    });
}

coflux::async_generator<int> counts(environment&, int n) {
    for (int i = 0; i != n; ++i) {
        co_await coflux::this_coroutine::yield();
        co_yield i;
    }
}
TEST(generator_source, gives_the_elements_of_a_generator_that_each_run_makes) {
    on_pool([](environment& here) -> coflux::call<void> {
        stream::generator_source source([](environment& in) { return counts(in, 100); });
        for (int run = 0; run != 2; ++run) {
            stream::memory_sink<int> sink;
            (void)co_await stream::run(here, stream::from(source) | stream::to(sink));
            EXPECT_EQ(sink.values(), numbers(100));
        }
    });
}

coflux::async_generator<int> waits(environment&) {
    co_yield 1;
    co_await coflux::sleep_for(24h);
    co_yield 2;
}
TEST(generator_source, is_ended_by_a_limit_and_a_drain_while_its_generator_waits) {
    on_pool([](environment& here) -> coflux::call<void> {
        const auto limited = co_await coflux::timeout(
            stream::run(here, stream::from(stream::generator_source(waits)) | stream::to(stream::for_each([](int) {}))),
            1ms);
        EXPECT_TRUE(limited.timed_out());
        stream::job_control control;
        const auto drains = [&](int) { control.drain(); };
        const auto report = co_await stream::run(here,
                                                 stream::from(stream::generator_source(waits)) | stream::tap(drains) |
                                                     stream::to(stream::for_each([](int) {})),
                                                 stream::job{.control = &control});
        EXPECT_TRUE(report.drained);
        EXPECT_EQ(report.outputs, 1U);
    });
}
TEST(generator_source, fails_as_its_generator) {
    on_pool([](environment& here) -> coflux::call<void> {
        constexpr auto fails = [](environment&) -> coflux::async_generator<int> {
            co_yield 1;
            throw std::runtime_error("the generator has failed");
        };
        std::string error;
        try {
            (void)co_await stream::run(here, stream::from(stream::generator_source(fails)) |
                                                 stream::to(stream::for_each([](int) {})));
        } catch (const std::runtime_error& e) {
            error = e.what();
        }
        EXPECT_EQ(error, "the generator has failed");
    });
}

}  // namespace
