// kafka::partition_source, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/partition_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace coflux_test {

struct seen {
    int count = 0;
    template <typename A>
    void fields(A& all) {
        all(count);
    }
};

}  // namespace coflux_test

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

TEST(kafka_partition_source, goes_on_with_its_state_where_it_was_drained) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 3);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        constexpr int count = 600;
        co_await sends_numbers(here, out, "numbers", count, kafka::outgoing::any_partition);
        const auto reader = cluster.member_of("counters");
        const std::vector<kafka::position> all = co_await kafka::partitions_of(here, reader, "numbers");
        EXPECT_EQ(all.size(), 3U);
        stream::memory_store store;
        std::vector<int> counts;
        for (const std::size_t more : {200U, 400U}) {
            kafka::partition_source in(reader, all);
            EXPECT_EQ(in.partitions(), (std::vector<std::uint32_t>{0, 1, 2}));
            stream::job_control control;
            const std::size_t left = static_cast<std::size_t>(count) - counts.size();
            draining_sink sink(std::min(more, left), control);
            (void)co_await stream::run(
                here,
                stream::from(in) | kafka::decode(number_of) | stream::by_key([](int n) { return n % 10; }) |
                    stream::fold<seen, int>([](seen& s, int, auto& emit) { emit(++s.count); }) | stream::to(sink),
                stream::job{.workers = 2, .max_batch = 50, .state = std::ref(store), .control = &control});
            co_await in.close(here);
            counts.insert(counts.end(), sink.values.begin(), sink.values.end());
        }
        // Each of ten keys was counted from 1 to 60, once.
        std::map<int, int> times;
        for (const int n : counts) ++times[n];
        EXPECT_EQ(times.size(), 60U);
        for (const auto& [n, k] : times) EXPECT_EQ(k, 10) << n;
    });
}

TEST(kafka_partition_source, refuses_a_second_run) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("readers"), {{"numbers", 0}});
        stream::memory_sink<int> out;
        co_await refuses_a_second_run(here, in, out, stream::job{.workers = 1, .commit_every = 1h});
        co_await in.close(here);
    });
}

TEST(kafka_partition_source, gives_the_messages_in_front_of_an_error) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("readers"), {{"numbers", 0}});
        stream::batch<kafka::message> got;
        while (got.size() < 10) (void)co_await in.read(here, got, 100);
        cluster.refuses_a_fetch();
        try {
            (void)co_await in.read(here, got, 0);  // 0 is 1
            ADD_FAILURE() << "it was refused";
        } catch (const kafka::error& e) {
            EXPECT_EQ(e.code(), kafka::errc::not_allowed);
        }
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 5, 0, 10);
        while (got.size() < 15) (void)co_await in.read(here, got, 100);
        for (std::size_t i = 0; i != got.size(); ++i) EXPECT_EQ(got[i].value.value(), std::to_string(i));
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST(kafka_partition_source, refuses_what_it_has_not) {
    const mock_cluster cluster;
    EXPECT_THROW(kafka::partition_source(cluster.member_of("g"), {}), std::invalid_argument);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("g"), {{"numbers", 1}});
        bool is_refused = false;
        try {
            const stream::positions to{{"numbers/0", 1}};
            co_await in.seek(here, to);
        } catch (const std::invalid_argument& e) {
            is_refused = true;
            expect_in(e.what(), "numbers/0");
        }
        EXPECT_TRUE(is_refused);
        co_await in.close(here);
    });
}

}  // namespace
