// kafka::source, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/source.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;
using stream::partition_event;

TEST(kafka_source, gives_records_with_place_time_and_original) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        const std::vector<kafka::header> headers{{"trace", "7"}, {"none", std::nullopt}};
        const std::chrono::sys_time<std::chrono::milliseconds> at(1'700'000'000'000ms);
        co_await out.send(
            here, {.topic = "orders", .partition = 2, .key = "k", .value = "v", .headers = headers, .time = at});
        co_await out.flush(here);
        kafka::source in(cluster.member_of("readers"), {"orders"});
        stream::batch<kafka::message> plain;
        plain.keep_originals();
        std::vector<stream::partition_change> changes;
        co_await reads_until(here, in, plain, 1, &changes);
        EXPECT_EQ(changes.size(), 4U);
        for (const auto& change : changes) EXPECT_EQ(change.what, partition_event::assigned);
        const auto& r = plain[0];
        EXPECT_EQ(in.partition_name(r.partition), "orders/2");
        EXPECT_EQ(r.next, 1);
        EXPECT_EQ(r.time, stream::event_time(at));
        EXPECT_EQ(r.value.value(), "v");
        EXPECT_EQ(r.original->key, "k");
        EXPECT_EQ(r.original->value, "v");
        EXPECT_EQ(r.original->headers,
                  (std::vector<std::pair<std::string, std::string>>{{"trace", "7"}, {"none", ""}}));
        co_await in.close(here);
    });
}

TEST(kafka_source, goes_on_where_the_job_has_committed) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1'000, kafka::outgoing::any_partition);
        std::vector<int> all;
        for (const std::size_t more : {400U, 600U}) {
            kafka::source in(cluster.member_of("readers"), {"numbers"});
            stream::job_control control;
            draining_sink sink(std::min(more, 1'000 - all.size()), control);
            (void)co_await stream::run(here, stream::from(in) | kafka::decode(number_of) | stream::to(sink),
                                       stream::job{.workers = 2, .max_batch = 50, .control = &control});
            co_await in.close(here);
            all.insert(all.end(), sink.values.begin(), sink.values.end());
        }
        std::ranges::sort(all);
        std::vector<int> expected(1'000);
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(all, expected);
    });
}

TEST(kafka_source, refuses_a_second_run) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::memory_sink<int> out;
        co_await refuses_a_second_run(here, in, out, stream::job{.workers = 1, .commit_every = 1h});
        co_await in.close(here);
    });
}

TEST(kafka_source, begins_where_it_is_sought_to) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        for (const char* wrong : {"others/0", "numbers", "numbers/", "numbers/x", "/1", "numbers/-1"}) {
            bool is_refused = false;
            try {
                const stream::positions at{{wrong, 7}};
                co_await in.seek(here, at);
            } catch (const std::invalid_argument& e) {
                is_refused = true;
                expect_in(e.what(), wrong);
            }
            EXPECT_TRUE(is_refused) << wrong;
        }
        const stream::positions to{{"numbers/0", 7}};
        co_await in.seek(here, to);
        stream::batch<kafka::message> got;
        co_await reads_until(here, in, got, 3);
        EXPECT_EQ(got[0].value.value(), "7");
        std::string refused;
        try {
            co_await in.seek(here, to);
        } catch (const std::invalid_argument& e) {
            refused = e.what();
        }
        expect_in(refused, "a source serves one run");  // it would go on from where it has read to
        co_await in.close(here);
    });
}

TEST(kafka_source, begins_where_it_is_sought_to_once) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        const stream::positions to{{"numbers/0", 7}};
        co_await in.seek(here, to);
        stream::batch<kafka::message> got;
        co_await reads_until(here, in, got, 3);
        const stream::positions done{{"numbers/0", 9}};
        co_await in.commit(here, done);
        cluster.forgets_a_member();
        EXPECT_EQ((co_await reads_change(here, in, got)).what, partition_event::lost);
        got.clear();
        co_await reads_until(here, in, got, 1);
        EXPECT_EQ(got[0].value.value(), "9");
        co_await in.close(here);
    });
}

TEST(kafka_source, keeps_a_revoked_partition_until_it_is_released) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        for (const std::int32_t p : {0, 1}) co_await sends_numbers(here, out, "numbers", 10, p);
        auto member = cluster.member_of("readers");
        member.session_timeout = 3s;  // brokers that are played divide a group within a second less
        // librdkafka says so where revoked partitions are acknowledged. In a cooperative group it tells the group
        // later, behind one more change, so that the other member cannot show that they were given back too early.
        auto logs = member;
        logs.client.settings.emplace_back("debug", "cgrp");
        awaited_line given_back(logs.client, "Removed 1 partition(s)");
        kafka::source first(logs, {"numbers"});
        stream::batch<kafka::message> got;
        co_await reads_until(here, first, got, 20);
        // Brokers that are played put a member out that asks for its part after the leader has divided, and divide anew,
        // without waiting for what is revoked. The leader asks for the topics first, so that this way lets it come last.
        cluster.answers_after(500ms);
        kafka::source second(member, {"numbers"});
        stream::batch<kafka::message> theirs;
        std::string moved;
        const auto gives = [&](environment&) -> call<bool> {
            auto&& self = co_await coflux::context();
            const auto revoked = co_await reads_change(self, first, got);
            EXPECT_EQ(revoked.what, partition_event::revoked);
            cluster.answers_after(0ms);
            moved = first.partition_name(revoked.partition);
            const stream::positions done{{moved, 7}};
            co_await first.commit(self, done);
            EXPECT_TRUE((co_await coflux::timeout(given_back.logged(), 10ms)).timed_out());
            co_await first.release(self, revoked.partition);
            EXPECT_FALSE((co_await coflux::timeout(given_back.logged(), 1s)).timed_out());
            for (;;) co_await reads_until(self, first, got, got.size() + 1);
        };
        const auto takes = [&](environment&) -> call<bool> {
            auto&& self = co_await coflux::context();
            co_await reads_until(self, second, theirs, 3);
            co_return true;
        };
        co_await coflux::race(gives(here), takes(here));
        EXPECT_EQ(theirs[0].value.value(), "7");
        const stream::positions late{{moved, 3}};
        co_await first.commit(here, late);  // ignored: it is the other one's
        kafka::consumer asks(member);
        const std::vector<kafka::position> where{{"numbers", moved == "numbers/0" ? 0 : 1}};
        EXPECT_EQ((co_await asks.committed(here, where)).at(0).offset, 7);
        co_await asks.close(here);
        co_await first.close(here);
        co_await second.close(here);
    });
}

TEST(kafka_source, tells_that_its_partitions_went_to_others_and_commits_no_more_of_them) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::batch<kafka::message> got;
        co_await reads_until(here, in, got, 10);
        const stream::positions first{{"numbers/0", 4}};
        const stream::positions later{{"numbers/0", 8}};
        co_await in.commit(here, first);
        cluster.forgets_a_member();
        const auto lost = co_await reads_change(here, in, got);
        EXPECT_EQ(lost.what, partition_event::lost);
        EXPECT_EQ(in.partition_name(lost.partition), "numbers/0");
        co_await in.commit(here, later);  // ignored
        // It joins again, and begins where it has committed.
        got.clear();
        std::vector<stream::partition_change> changes;
        co_await reads_until(here, in, got, 6, &changes);
        EXPECT_EQ(changes.size(), 1U);
        EXPECT_EQ(changes.at(0).what, partition_event::assigned);
        EXPECT_EQ(got[0].value.value(), "4");
        co_await in.close(here);
    });
}

TEST(kafka_source, commits_again_where_the_group_is_being_divided) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::batch<kafka::message> got;
        co_await reads_until(here, in, got, 10);
        const stream::positions done{{"numbers/0", 4}, {"numbers/7", 9}, {"others/0", 9}};
        cluster.answers(request::offset_commit, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
                        RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
        co_await in.commit(here, done);
        // A coordinator that has begun just now: longer than librdkafka tries.
        for (int i = 0; i != 10; ++i)
            cluster.answers(request::offset_commit, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
        co_await in.commit(here, done);
        cluster.answers(request::offset_commit, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
        bool is_refused = false;
        try {
            co_await in.commit(here, done);
        } catch (const kafka::error& e) {
            is_refused = true;
            expect_in(e.what(), "GROUP_AUTHORIZATION_FAILED");
        }
        EXPECT_TRUE(is_refused);
        // It was divided without this member: what it had is lost.
        const stream::positions later{{"numbers/0", 8}};
        cluster.answers(request::offset_commit, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION);
        co_await in.commit(here, later);
        EXPECT_EQ((co_await reads_change(here, in, got)).what, partition_event::lost);
        co_await in.close(here);
        kafka::consumer asks(cluster.member_of("readers"));
        const std::vector<kafka::position> all{{"numbers", 0}};
        EXPECT_EQ((co_await asks.committed(here, all)).at(0).offset, 4);
        co_await asks.close(here);
    });
}

TEST(kafka_source, that_is_stopped_in_read_loses_nothing) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::batch<kafka::message> got;
        std::vector<stream::partition_change> changes;
        co_await sends_numbers(here, out, "numbers", 1);
        co_await reads_until(here, in, got, 1, &changes);  // a member that is stopped while it joins begins again
        const auto sends = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            for (int i = 1; i < 100; ++i) co_await sends_numbers(self, out, "numbers", 1, 0, i);
        };
        const auto reads = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            for (int i = 0; got.size() < 100; ++i) {
                (void)co_await coflux::timeout(in.read(self, got, 7), std::chrono::microseconds(50 * (i % 400) + 1));
                while (const auto change = in.take_change()) changes.push_back(*change);
            }
        };
        co_await coflux::when_all(sends(here), reads(here));
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].value.value(), std::to_string(i));
        EXPECT_EQ(changes.size(), 1U);
        co_await in.close(here);
    });
}

TEST(kafka_source, says_why_no_broker_answers) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in({.client = {.brokers = "127.0.0.1:1", .request_timeout = 1s}, .group = "readers"},
                         {"numbers"});
        stream::memory_sink<int> sink;
        bool has_failed = false;
        const std::clock_t before = std::clock();
        try {
            (void)co_await stream::run(here, stream::from(in) | kafka::decode(number_of) | stream::to(sink),
                                       stream::job{.workers = 1});
        } catch (const kafka::error& e) {
            has_failed = true;
            expect_in(e.what(), "no broker of '127.0.0.1:1' answered within 1000 ms");
        }
        EXPECT_TRUE(has_failed);
        EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 4);  // of all threads: they wait
    });
}

TEST(kafka_source, refuses_no_topic) {
    EXPECT_THROW(kafka::source({.client = {.brokers = "a:1"}, .group = "g"}, {}), std::invalid_argument);
}

}  // namespace
