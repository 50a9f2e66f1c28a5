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

// Which partition a process has does not matter: each asks the broker.
TEST(kafka_partition_source, has_partitions_of_one_number_of_topics_that_are_joined) {
    mock_cluster cluster;
    for (const char* const topic : {"orders", "payments", "refunds"}) cluster.make_topic(topic, 3);
    cluster.make_topic("returns", 4);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const auto reader = cluster.member_of("joiners");
        const auto names = [](auto... topic) { return std::vector<std::string>{topic...}; };
        const std::vector<kafka::position> all{{"orders", 2}, {"payments", 2}, {"refunds", 2}};
        EXPECT_EQ(co_await kafka::co_partitions_of(here, reader, names("orders", "payments", "refunds"), 2), all);
        std::string refused;
        for (const std::int32_t number : {0, 3}) {
            try {
                (void)co_await kafka::co_partitions_of(here, reader, names("orders", "payments", "returns"), number);
            } catch (const kafka::not_co_partitioned& e) {
                refused += e.what();
            }
        }
        const std::string sentence =
            "coflux: Kafka: topics that are joined have other numbers of partitions: orders has 3, payments has 3, "
            "returns has 4";
        EXPECT_EQ(refused, sentence + sentence);
        std::size_t wrong = 0;
        for (const auto& [topics, number] :
             {std::pair(names("orders", "payments"), 3), std::pair(names("orders"), -1), std::pair(names(), 0)}) {
            try {
                (void)co_await kafka::co_partitions_of(here, reader, topics, number);
            } catch (const std::invalid_argument&) {
                ++wrong;
            }
        }
        EXPECT_EQ(wrong, 3U);
    });
}

}  // namespace
