// kafka::share_partitions, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/share_partitions.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

TEST(kafka_share_partitions, runs_a_job_for_each_partition_until_it_is_drained) {
    mock_cluster cluster;
    cluster.make_topic("orders", 3);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        std::multiset<std::int32_t> begun;
        std::multiset<std::int32_t> drained;
        const auto job = [&](environment&, const kafka::position& p, stream::job_control& of) -> call<void> {
            EXPECT_EQ(p.topic, "orders");
            begun.insert(p.partition);
            if (begun.size() == 3) control.drain();
            co_await of.drain_requested();
            drained.insert(p.partition);
        };
        co_await kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, job, control);
        const std::multiset<std::int32_t> all{0, 1, 2};
        EXPECT_EQ(begun, all);
        EXPECT_EQ(drained, all);
    });
}

TEST(kafka_share_partitions, drains_the_job_of_a_partition_before_another_member_begins_with_it) {
    mock_cluster cluster;
    cluster.make_topic("orders", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control first;
        stream::job_control second;
        std::multiset<std::int32_t> running;
        std::size_t by_second = 0;
        coflux::manual_reset_event joins;
        const auto runs = [&](environment&, const kafka::position& p, stream::job_control& of) -> call<void> {
            EXPECT_EQ(running.count(p.partition), 0U);  // never two at a time
            running.insert(p.partition);
            if (running.size() == 2) joins.set();
            co_await of.drain_requested();
            co_await coflux::yield();
            running.erase(p.partition);
        };
        const auto runs_by_second = [&](environment&, const kafka::position& p, stream::job_control& of) -> call<void> {
            auto&& self = co_await coflux::context();
            ++by_second;
            first.drain();  // so the other one comes, too
            if (by_second == 2) second.drain();
            co_await runs(self, p, of);
        };
        const auto shares_second = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            co_await joins.wait();
            co_await kafka::share_partitions(self, cluster.member_of("sharers"), {"orders"}, runs_by_second, second);
        };
        co_await coflux::when_all(kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, runs, first),
                                  shares_second(here));
        EXPECT_EQ(by_second, 2U);
        EXPECT_TRUE(running.empty());
    });
}

TEST(kafka_share_partitions, stops_the_job_of_a_partition_that_is_lost) {
    mock_cluster cluster;
    cluster.make_topic("orders", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        std::size_t begun = 0;
        std::size_t drained = 0;
        const auto job = [&](environment&, const kafka::position&, stream::job_control& of) -> call<void> {
            if (++begun == 2) control.drain();  // the member has joined again
            if (begun == 1) cluster.forgets_a_member();
            co_await of.drain_requested();
            ++drained;
        };
        co_await kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, job, control);
        EXPECT_EQ(begun, 2U);
        EXPECT_EQ(drained, 1U);
    });
}

// The group may tell a member that was paused after the next owner has fenced it.
TEST(kafka_share_partitions, goes_on_where_the_jobs_of_lost_partitions_fail) {
    mock_cluster cluster;
    cluster.make_topic("orders", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        std::size_t begun = 0;
        const auto job = [&](environment&, const kafka::position& p, stream::job_control& of) -> call<void> {
            if (++begun == 4) control.drain();  // the member has joined again
            if (begun > 2) {
                co_await of.drain_requested();
                co_return;
            }
            if (begun == 2) cluster.forgets_a_member();
            if (p.partition == 0)
                throw kafka::error(make_error_code(kafka::errc::fenced), "fenced", {.is_fatal = true});
            (void)co_await coflux::as_outcome(of.drain_requested());  // until it is stopped
            throw std::runtime_error("it has failed while it was stopped");
        };
        co_await kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, job, control);
        EXPECT_EQ(begun, 4U);
    });
}

TEST(kafka_share_partitions, that_is_stopped_stops_its_jobs_and_leaves_the_group) {
    mock_cluster cluster;
    cluster.make_topic("orders", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        std::size_t drained = 0;
        coflux::manual_reset_event begun;
        const auto job = [&](environment&, const kafka::position&, stream::job_control& of) -> call<void> {
            begun.set();
            co_await of.drain_requested();
            ++drained;
        };
        const auto begins = [&](environment&) -> call<void> { co_await begun.wait(); };
        (void)co_await coflux::when_any(
            kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, job, control), begins(here));
        EXPECT_EQ(drained, 0U);
        // The group has no other member that the next one would have to wait for.
        const auto ends = [&](environment&, const kafka::position&, stream::job_control&) -> call<void> {
            control.drain();
            co_return;
        };
        co_await kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, ends, control);
    });
}

TEST(kafka_share_partitions, ends_with_the_error_of_a_job) {
    mock_cluster cluster;
    cluster.make_topic("orders", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        std::string error;
        const auto job = [&](environment&, const kafka::position& p, stream::job_control& of) -> call<void> {
            if (p.partition == 1) throw std::runtime_error("the job has failed");
            co_await of.drain_requested();
        };
        try {
            co_await kafka::share_partitions(here, cluster.member_of("sharers"), {"orders"}, job, control);
        } catch (const std::runtime_error& e) {
            error = e.what();
        }
        EXPECT_EQ(error, "the job has failed");
    });
}

TEST(kafka_share_partitions, refuses_no_topic_and_no_job) {
    mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control control;
        const auto job = [](environment&, const kafka::position&, stream::job_control&) -> call<void> { co_return; };
        std::size_t refused = 0;
        for (const bool has_job : {true, false}) {
            try {
                std::vector<std::string> topics;
                if (!has_job) topics.emplace_back("orders");
                co_await kafka::share_partitions(here, cluster.member_of("sharers"), topics,
                                                 has_job ? kafka::partition_job(job) : kafka::partition_job(), control);
            } catch (const std::invalid_argument&) {
                ++refused;
            }
        }
        EXPECT_EQ(refused, 2U);
    });
}

}  // namespace
