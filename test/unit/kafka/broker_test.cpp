// Cases that the brokers of rdkafka_mock.h cannot play, on a real one: its address is in COFLUX_KAFKA_BROKER.
// with_broker.py starts one, and kafka.broker runs these.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/producer.hpp>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;
using kind = kafka::polled::kind;
using coflux::call;
using coflux::environment;

class kafka_broker : public on_broker {
protected:
    [[nodiscard]] kafka::consumer_options member_of(std::string group) const {
        return {.client = client, .group = std::move(group), .session_timeout = 20s};
    }
    [[nodiscard]] kafka::producer_options producer(std::string id = {}) const {
        return {.client = client, .transactional_id = std::move(id), .linger = 1ms, .transaction_timeout = 20s};
    }
};

TEST_F(kafka_broker, makes_topics_once) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client,
                                     {.name = "made", .partitions = 3, .settings = {{"cleanup.policy", "compact"}}});
        kafka::consumer in(member_of("makers"));
        EXPECT_EQ(co_await in.partition_count(here, "made"), 3);
        bool exists = false;
        try {
            co_await kafka::create_topic(here, client, {.name = "made"});
        } catch (const kafka::error& e) {
            exists = e.code() == kafka::errc::topic_exists;
            expect_in(e.what(), "make the topic made: TOPIC_ALREADY_EXISTS");
        }
        EXPECT_TRUE(exists);
        bool is_unknown = false;
        try {
            (void)co_await in.partition_count(here, "other");
        } catch (const kafka::error& e) {
            is_unknown = e.code() == kafka::errc::unknown_topic;
        }
        EXPECT_TRUE(is_unknown);
        co_await in.close(here);
    });
}

TEST_F(kafka_broker, says_that_a_topic_does_not_exist) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(member_of("lost"));
        co_await in.subscribe(here, {"no_such_topic"});
        std::vector<kafka::message> got;
        bool is_unknown = false;
        try {
            (void)co_await next_change(here, in, got);
            (void)co_await in.poll(here, got);
        } catch (const kafka::error& e) {
            is_unknown = e.code() == kafka::errc::unknown_topic;
            expect_in(e.what(), "no_such_topic");
        }
        EXPECT_TRUE(is_unknown);
        co_await in.close(here);
    });
}

TEST_F(kafka_broker, finds_offsets_by_time) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "times"});
        kafka::producer out(producer());
        for (int i = 0; i < 10; ++i) {
            const std::chrono::sys_time<std::chrono::milliseconds> at(1'700'000'000'000ms + i * 1s);
            co_await out.send(here, {.topic = "times", .partition = 0, .value = "x", .time = at});
        }
        co_await out.flush(here);
        kafka::consumer in(member_of("times"));
        const std::vector<kafka::position> all{{"times", 0}};
        const auto found =
            co_await in.offsets_at(here, all, std::chrono::system_clock::time_point(1'700'000'003'500ms));
        EXPECT_EQ(found, (std::vector<kafka::position>{{"times", 0, 4}}));
        const auto none = co_await in.offsets_at(here, all, std::chrono::system_clock::time_point(1'800'000'000'000ms));
        EXPECT_EQ(none, (std::vector<kafka::position>{{"times", 0, kafka::place::end}}));
        std::vector<kafka::message> got;
        co_await in.assign(here, found);
        co_await polls_until(here, in, got, 6);
        EXPECT_EQ(got.front().offset(), 4);
        EXPECT_EQ(got.front().time(), std::chrono::sys_time<std::chrono::milliseconds>(1'700'000'004'000ms));
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST_F(kafka_broker, keeps_the_membership_of_a_slow_consumer) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "slow"});
        kafka::producer out(producer());
        co_await sends_numbers(here, out, "slow", 1);
        auto options = member_of("slow");
        options.session_timeout = 3s;
        kafka::consumer in(options);
        co_await in.subscribe(here, {"slow"});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        co_await 5s;
        const std::vector<kafka::position> done{{"slow", 0, 1}};
        co_await in.commit(here, done);
        co_await sends_numbers(here, out, "slow", 1);
        std::vector<kafka::polled> changes;
        co_await polls_until(here, in, got, 2, &changes);
        EXPECT_TRUE(changes.empty());
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST_F(kafka_broker, keeps_the_membership_of_a_consumer_that_waits) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "idle"});
        kafka::producer out(producer());
        auto options = member_of("idle");
        options.session_timeout = 3s;
        options.poll_timeout = 3s;  // the wait itself counts as polling
        kafka::consumer in(options);
        co_await in.subscribe(here, {"idle"});
        std::vector<kafka::message> got;
        co_await in.acknowledge(here, co_await next_change(here, in, got));
        const auto sends_later = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            co_await 5s;
            co_await sends_numbers(self, out, "idle", 1);
        };
        std::vector<kafka::polled> changes;
        co_await coflux::when_all(polls_until(here, in, got, 1, &changes), sends_later(here));
        EXPECT_TRUE(changes.empty());
        co_await in.close(here);
        co_await out.close(here);
    });
}

/// Polls, and notes the changes, until `done`.
call<void> polls_while(environment&, kafka::consumer& of, std::vector<kafka::polled>& seen,
                       const std::atomic<bool>& done) {
    auto&& here = co_await coflux::context();
    std::vector<kafka::message> got;
    while (!done) {
        const auto polled = co_await coflux::timeout(of.poll(here, got), 20ms);
        if (polled && polled->is_change()) seen.push_back(*polled);
    }
}

/// A second member joins; gives what the first one saw after it had all four partitions.
std::vector<kafka::polled> seen_by_the_first(kafka::consumer_options options, const char* topic) {
    std::vector<kafka::polled> of_first;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, options.client, {.name = topic, .partitions = 4});
        kafka::consumer first(options);
        kafka::consumer second(options);
        std::vector<kafka::message> none;
        co_await first.subscribe(here, {topic});
        const kafka::polled all = co_await next_change(here, first, none);
        EXPECT_EQ(all.what, kind::assigned);
        EXPECT_EQ(all.partitions.size(), 4U);
        co_await first.acknowledge(here, all);

        std::atomic<bool> done = false;
        std::vector<kafka::polled> of_second;
        const auto ends = [&](environment&) -> call<void> {
            while (first.positions().size() != 2 || second.positions().size() != 2) co_await 5ms;
            done = true;
        };
        co_await second.subscribe(here, {topic});
        co_await coflux::when_all(polls_while(here, first, of_first, done), polls_while(here, second, of_second, done),
                                  ends(here));
        // Each partition has one owner.
        std::vector<kafka::position> owned = first.positions();
        for (kafka::position& p : second.positions()) owned.push_back(std::move(p));
        for (int i = 0; i < 4; ++i) EXPECT_EQ(std::ranges::count(owned, i, &kafka::position::partition), 1) << i;
        co_await first.close(here);
        co_await second.close(here);
    });
    return of_first;
}

TEST_F(kafka_broker, moves_only_what_must_where_the_group_is_cooperative) {
    std::size_t revoked = 0;
    for (const kafka::polled& change : seen_by_the_first(member_of("cooperative"), "cooperative"))
        if (change.what == kind::revoked) revoked += change.partitions.size();
    EXPECT_EQ(revoked, 2U);
}
TEST_F(kafka_broker, moves_all_where_the_group_is_eager) {
    auto options = member_of("eager");
    options.protocol = kafka::rebalancing::eager;
    const std::vector<kafka::polled> seen = seen_by_the_first(options, "eager");
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front().what, kind::revoked);
    EXPECT_EQ(seen.front().partitions.size(), 4U);
}

TEST_F(kafka_broker, gives_a_static_member_its_partitions_back) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "static", .partitions = 2});
        auto options = member_of("static");
        options.session_timeout = 20s;
        std::vector<kafka::message> none;
        kafka::consumer stays(options);
        options.instance = "one";
        kafka::consumer comes_back(options);
        co_await stays.subscribe(here, {"static"});
        co_await comes_back.subscribe(here, {"static"});
        std::atomic<bool> done = false;
        std::size_t changes = 0;
        const auto polls = [&](environment&, kafka::consumer& of) -> call<void> {
            auto&& self = co_await coflux::context();
            while (!done) {
                const auto got = co_await coflux::timeout(of.poll(self, none), 20ms);
                if (got && got->is_change()) ++changes;
            }
        };
        const auto ends = [&](environment&) -> call<void> {
            while (stays.positions().size() != 1 || comes_back.positions().size() != 1) co_await 5ms;
            done = true;
        };
        co_await coflux::when_all(polls(here, stays), polls(here, comes_back), ends(here));
        const auto before = stays.positions();
        co_await comes_back.close(here);
        comes_back = kafka::consumer(options);
        co_await comes_back.subscribe(here, {"static"});
        const kafka::polled again = co_await next_change(here, comes_back, none);
        EXPECT_EQ(again.what, kind::assigned);
        EXPECT_EQ(again.partitions.size(), 1U);
        changes = 0;
        (void)co_await coflux::timeout(stays.poll(here, none), 500ms);
        EXPECT_EQ(stays.positions(), before);
        co_await comes_back.close(here);
        co_await stays.close(here);
    });
}

/// Copies what it reads, in transactions with its positions, until it has copied `most` or is at the end; then it dies
/// in the middle of another transaction.
call<void> copies(environment&, const kafka::consumer_options& from, const kafka::producer_options& to,
                  std::size_t most, std::int64_t end) {
    auto&& here = co_await coflux::context();
    kafka::producer out(to);
    co_await out.init_transactions(here);
    kafka::consumer in(from);
    co_await in.subscribe(here, {"inputs"});
    std::vector<kafka::message> batch;
    for (std::size_t copied = 0;;) {
        batch.clear();
        const kafka::polled got = co_await in.poll(here, batch, 100);
        if (got.what != kind::messages) continue;
        co_await out.begin_transaction(here);
        for (const kafka::message& m : batch)
            co_await out.send(here, {.topic = "outputs", .partition = 0, .key = m.key(), .value = m.value()});
        const std::vector<kafka::position> done = kafka::positions_behind(batch);
        co_await out.send_positions(here, in, done);
        if (copied >= most) co_return;  // dies: sent, and not committed
        co_await out.commit_transaction(here);
        copied += batch.size();
        if (done.front().offset == end) {
            co_await in.close(here);
            co_await out.close(here);
            co_return;
        }
    }
}

TEST_F(kafka_broker, copies_each_message_once_though_the_copier_dies) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "inputs"});
        co_await kafka::create_topic(here, client, {.name = "outputs"});
        constexpr int count = 3'000;
        kafka::producer out(producer());
        co_await sends_numbers(here, out, "inputs", count);
        for (int life = 0; life < 3; ++life)
            co_await copies(here, member_of("copiers"), producer("copier"), 500, count);
        co_await copies(here, member_of("copiers"), producer("copier"), count, count);

        kafka::consumer in(member_of("checkers"));
        co_await in.assign(here, {{"outputs", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, count);
        for (int i = 0; i < count; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].value(), std::to_string(i));
        const kafka::watermarks bounds = co_await in.bounds(here, {"outputs", 0});
        EXPECT_GT(bounds.high, count);  // what was not committed is there, and not seen
        EXPECT_TRUE((co_await coflux::timeout(in.poll(here, got), 300ms)).timed_out());
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST_F(kafka_broker, fences_a_zombie) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "fenced"});
        kafka::producer zombie(producer("fenced"));
        co_await zombie.init_transactions(here);
        co_await zombie.begin_transaction(here);
        co_await zombie.send(here, {.topic = "fenced", .partition = 0, .value = "old"});
        co_await zombie.flush(here);
        kafka::producer next(producer("fenced"));
        co_await next.init_transactions(here);
        bool is_fatal = false;
        try {
            co_await zombie.commit_transaction(here);
        } catch (const kafka::error& e) {
            is_fatal = e.is_fatal();
        }
        EXPECT_TRUE(is_fatal);
        co_await next.begin_transaction(here);
        co_await next.send(here, {.topic = "fenced", .partition = 0, .value = "new"});
        co_await next.commit_transaction(here);
        kafka::consumer in(member_of("fenced"));
        co_await in.assign(here, {{"fenced", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        EXPECT_EQ(got.front().value(), "new");
        co_await in.close(here);
    });
}

}  // namespace
