// kafka::consumer, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/consumer.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;
using kind = kafka::polled::kind;
using coflux::call;
using coflux::environment;

TEST(kafka_consumer, gets_what_was_sent_in_order) {
    const mock_cluster cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1'000);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.subscribe(here, {"numbers"});
        std::vector<kafka::message> got;
        std::vector<kafka::polled> changes;
        co_await polls_until(here, in, got, 1'000, &changes);
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i].value(), std::to_string(i));
            EXPECT_EQ(got[i].key(), std::to_string(i));
            EXPECT_EQ(got[i].offset(), static_cast<std::int64_t>(i));
            EXPECT_EQ(got[i].partition(), 0);
            EXPECT_EQ(got[i].topic(), "numbers");
        }
        EXPECT_EQ(changes.size(), 1U);
        EXPECT_EQ(changes.at(0).what, kind::assigned);
        co_await in.close(here);
        EXPECT_FALSE(in.is_open());
    };
    on_worker(body);
}

TEST(kafka_consumer, that_waits_gets_what_is_sent_later) {
    const mock_cluster cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        for (int i = 1; i < 20; ++i) {
            // The poll waits before it is sent.
            co_await coflux::when_all(polls_until(here, in, got, static_cast<std::size_t>(i) + 1),
                                      sends_numbers(here, out, "numbers", 1, 0, i));
            EXPECT_EQ(got.back().value(), std::to_string(i));
        }
        co_await in.close(here);
    };
    on_worker(body);
    on_pool(body);
}

TEST(kafka_consumer, that_is_fenced_by_another_one_of_its_instance_is_over) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    for (const bool has_answered : {true, false}) {
        on_worker([&](environment&) -> call<void> {
            auto&& here = co_await coflux::context();
            auto options = cluster.member_of(has_answered ? "some" : "others");
            options.instance = "one";
            awaited_line fenced(options.client, "Fatal error");
            kafka::consumer in(options);
            co_await in.subscribe(here, {"numbers"});
            std::vector<kafka::message> got;
            const kafka::polled change = co_await next_change(here, in, got);
            EXPECT_EQ(change.what, kind::assigned);
            if (has_answered) co_await in.acknowledge(here, change);
            cluster.answers(request::heartbeat, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
            co_await fenced.logged();
            for (int each = 0; each != 3; ++each) {
                try {
                    for (;;) (void)co_await in.poll(here, got);
                } catch (const kafka::error& e) {
                    EXPECT_TRUE(e.is_fatal() && e.code() == kafka::errc::fenced) << e.what();
                }
            }
            co_await in.close(here);
        });
    }
}

TEST(kafka_consumer, closes_while_it_is_given_partitions) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    for (const bool waits_in_the_queue : {true, false}) {
        on_worker([&](environment&) -> call<void> {
            auto&& here = co_await coflux::context();
            auto options = cluster.member_of(waits_in_the_queue ? "some" : "others");
            options.client.settings.emplace_back("debug", "cgrp");
            awaited_line given(options.client, waits_in_the_queue ? "delegating incremental assign" : "-> wait-sync");
            if (!waits_in_the_queue) cluster.answers_after(200ms);  // it closes before they come
            kafka::consumer in(options);
            co_await in.subscribe(here, {"numbers"});
            co_await given.logged();
            co_await in.close(here);
        });
    }
}

TEST(kafka_consumer, that_is_stopped_in_poll_loses_nothing) {
    const mock_cluster cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        kafka::consumer in(cluster.member_of("readers"));
        co_await sends_numbers(here, out, "numbers", 1);
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        const auto sends = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            for (int i = 1; i < 300; ++i) co_await sends_numbers(self, out, "numbers", 1, 0, i);
        };
        const auto polls = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            for (int i = 0; got.size() < 300; ++i)
                (void)co_await coflux::timeout(in.poll(self, got, 7), std::chrono::microseconds(10 * (i % 50) + 1));
        };
        co_await coflux::when_all(sends(here), polls(here));
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].value(), std::to_string(i));
        co_await in.close(here);
    };
    on_worker(body);
}

TEST(kafka_consumer, goes_on_where_its_group_has_committed) {
    const cluster_of_numbers cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const std::vector<kafka::position> all{{"numbers", 0}};
        {
            kafka::consumer in(cluster.member_of("readers"));
            co_await in.subscribe(here, {"numbers"});
            std::vector<kafka::message> got;
            co_await polls_until(here, in, got, 10);
            const auto at = in.positions();
            EXPECT_EQ(std::ranges::count(at, kafka::position("numbers", 0, 10)), 1);
            EXPECT_FALSE((co_await in.committed(here, all)).at(0).has_offset());
            const std::vector<kafka::position> done{{"numbers", 0, 4}};
            co_await in.commit(here, done);
            EXPECT_EQ(co_await in.committed(here, all), done);
            co_await in.close(here);
        }
        kafka::consumer next(cluster.member_of("readers"));
        co_await next.subscribe(here, {"numbers"});
        std::vector<kafka::message> got;
        co_await polls_until(here, next, got, 6);
        EXPECT_EQ(got.front().value(), "4");
        EXPECT_EQ(got.back().value(), "9");
        co_await next.close(here);
    };
    on_worker(body);
}

TEST(kafka_consumer, begins_an_assigned_partition_where_the_acknowledgement_says) {
    const cluster_of_numbers cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.subscribe(here, {"numbers"});
        std::vector<kafka::message> got;
        kafka::polled change = co_await next_change(here, in, got);
        EXPECT_EQ(change.what, kind::assigned);
        for (kafka::position& p : change.partitions) {
            EXPECT_EQ(p.offset, static_cast<std::int64_t>(kafka::place::committed));
            if (p.partition == 0) p.offset = 7;
        }
        co_await in.acknowledge(here, change);
        co_await in.acknowledge(here, change);  // without effect
        co_await polls_until(here, in, got, 3);
        EXPECT_EQ(got.front().value(), "7");
        co_await in.close(here);
    };
    on_worker(body);
}

TEST(kafka_consumer, tells_that_its_partitions_went_to_others) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.subscribe(here, {"numbers"});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        cluster.forgets_a_member();
        const kafka::polled change = co_await next_change(here, in, got);
        EXPECT_EQ(change.what, kind::lost);
        co_await in.acknowledge(here, change);
        EXPECT_TRUE(in.positions().empty());
        // It joins again.
        EXPECT_EQ((co_await next_change(here, in, got)).what, kind::assigned);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, gives_nothing_of_what_is_paused) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        kafka::consumer in(cluster.member_of("readers"));
        const std::vector<kafka::position> first{{"numbers", 0, kafka::place::beginning}};
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}, {"numbers", 1, kafka::place::beginning}});
        co_await in.pause(here, first);
        co_await sends_numbers(here, out, "numbers", 5, 0);
        co_await sends_numbers(here, out, "numbers", 5, 1, 5);
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 5);
        for (const kafka::message& m : got) EXPECT_EQ(m.partition(), 1);
        co_await in.resume(here, first);
        co_await polls_until(here, in, got, 10);
        EXPECT_EQ(got.back().partition(), 0);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, reads_again_from_where_it_seeks) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 10);
        const std::vector<kafka::position> back{{"numbers", 0, 3}};
        co_await in.seek(here, back);
        co_await polls_until(here, in, got, 17);
        EXPECT_EQ(got[10].offset(), 3);
        EXPECT_EQ(got.back().offset(), 9);
        const kafka::watermarks bounds = co_await in.bounds(here, {"numbers", 0});
        EXPECT_EQ(bounds.low, 0);
        EXPECT_EQ(bounds.high, 10);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, tells_the_end_of_a_partition_where_it_is_asked_to) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.member_of("readers");
        options.reports_end = true;
        kafka::consumer in(options);
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        kafka::polled last;
        do last = co_await in.poll(here, got);
        while (last.what == kind::messages);
        EXPECT_EQ(last.what, kind::end);
        EXPECT_EQ(last.partitions, (std::vector<kafka::position>{{"numbers", 0, 10}}));
        EXPECT_EQ(got.size(), 10U);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, knows_how_many_partitions_a_topic_has) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 7);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(cluster.member_of("readers"));
        EXPECT_EQ(co_await in.partition_count(here, "numbers"), 7);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, says_why_no_broker_answers) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in({.client = {.brokers = "127.0.0.1:1", .request_timeout = 300ms}, .group = "readers"});
        try {
            co_await in.subscribe(here, {"numbers"});
            ADD_FAILURE() << "there is no broker";
        } catch (const kafka::error& e) {
            expect_in(e.what(), "no broker of '127.0.0.1:1' answered within 300 ms");
            expect_in(e.what(), "Connection refused");
            EXPECT_TRUE(e.is_retriable());
        }
    });
}

TEST(kafka_consumer, tells_an_error_behind_the_messages_and_goes_on) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await sends_numbers(here, out, "numbers", 10);
        co_await polls_until(here, in, got, 10);
        cluster.refuses_a_fetch();
        try {
            for (;;) (void)co_await in.poll(here, got);
        } catch (const kafka::error& e) {
            EXPECT_EQ(e.code(), kafka::errc::not_allowed);
            EXPECT_FALSE(e.is_fatal());
            expect_in(e.what(), "coflux: Kafka: poll: TOPIC_AUTHORIZATION_FAILED");
        }
        EXPECT_EQ(got.size(), 10U);
        co_await sends_numbers(here, out, "numbers", 5, 0, 10);
        co_await polls_until(here, in, got, 15);
        for (std::size_t i = 0; i != got.size(); ++i) EXPECT_EQ(got[i].value(), std::to_string(i));
        co_await in.close(here);
        co_await out.close(here);
    });
}

/// A server that speaks no TLS.
class plain_server {
public:
    plain_server() {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        auto* const address = reinterpret_cast<sockaddr*>(&at);
        EXPECT_EQ(bind(fd_, address, size), 0);
        EXPECT_EQ(listen(fd_, 8), 0);
        EXPECT_EQ(getsockname(fd_, address, &size), 0);
        port_ = ntohs(at.sin_port);
        answers_ = std::thread([fd = fd_] {
            for (int c = accept(fd, nullptr, nullptr); c >= 0; c = accept(fd, nullptr, nullptr)) {
                (void)send(c, "no TLS here", 11, MSG_NOSIGNAL);
                // A close with bytes unread resets the connection, and the client may not see the answer.
                std::array<char, 512> unread{};
                while (recv(c, unread.data(), unread.size(), 0) > 0) continue;
                (void)close(c);
            }
        });
    }
    plain_server(const plain_server&) = delete;
    plain_server& operator=(const plain_server&) = delete;
    ~plain_server() {
        (void)shutdown(fd_, SHUT_RDWR);  // ends the accept()
        answers_.join();
        (void)close(fd_);
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
    int fd_ = socket(AF_INET, SOCK_STREAM, 0);
    int port_ = 0;
    std::thread answers_;
};

TEST(kafka_consumer, tells_an_error_of_a_connection_that_does_not_pass) {
    const plain_server server;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(
            {.client = {.brokers = server.address(), .settings = {{"security.protocol", "ssl"}}}, .group = "readers"});
        std::vector<kafka::message> got;
        try {
            for (;;) (void)co_await in.poll(here, got);
        } catch (const kafka::error& e) {
            EXPECT_STREQ(e.name(), "_SSL");
        }
        co_await in.close(here);
    });
}

TEST(kafka_consumer, says_why_a_commit_was_refused) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        cluster.answers(request::offset_commit, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
        const std::vector<kafka::position> done{{"numbers", 0, 1}};
        try {
            co_await in.commit(here, done);
            ADD_FAILURE() << "it was refused";
        } catch (const kafka::error& e) {
            EXPECT_TRUE(e.code() == kafka::errc::unknown_member);
            EXPECT_STREQ(e.name(), "UNKNOWN_MEMBER_ID");
            expect_in(e.what(), "commit");
        }
        co_await in.commit(here, {});
        co_await in.commit(here, done);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, that_is_stopped_in_a_commit_can_go_on) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    cluster.answers_after(50ms);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        const std::vector<kafka::position> done{{"numbers", 0, 1}};
        EXPECT_FALSE(co_await coflux::timeout(in.commit(here, done), 1ms));
        co_await in.commit(here, done);
        EXPECT_EQ(co_await in.committed(here, done), done);
        co_await in.close(here);
    });
}

TEST(kafka_consumer, may_die_before_its_messages) {
    const cluster_of_numbers cluster;
    std::vector<kafka::message> got;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::consumer closed(cluster.member_of("readers"));
        co_await closed.assign(here, {{"numbers", 0, kafka::place::beginning}});
        co_await polls_until(here, closed, got, 10);
        co_await closed.close(here);
        kafka::consumer dropped(cluster.member_of("others"));
        co_await dropped.subscribe(here, {"numbers"});
        co_await polls_until(here, dropped, got, 15);
    });
    EXPECT_EQ(got[9].value(), "9");
    EXPECT_EQ(got[14].value(), "4");
}

TEST(kafka_consumer, dies_with_a_change_that_was_not_acknowledged) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1);
        std::vector<kafka::message> got;
        kafka::consumer closed(cluster.member_of("readers"));
        co_await closed.subscribe(here, {"numbers"});
        (void)co_await next_change(here, closed, got);
        co_await closed.close(here);
        kafka::consumer dropped(cluster.member_of("readers"));
        co_await dropped.subscribe(here, {"numbers"});
        (void)co_await next_change(here, dropped, got);
    });
}

TEST(kafka_consumer, closes_though_the_brokers_are_gone) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 1);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.subscribe(here, {"numbers"});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        for (int broker = 1; broker <= 3; ++broker) rd_kafka_mock_broker_set_down(cluster.get(), broker);
        // A connection that is lost is no error: poll() waits on.
        EXPECT_TRUE((co_await coflux::timeout(in.poll(here, got), 300ms)).timed_out());
        co_await in.close(here);
    });
}

TEST(kafka_consumer, refuses_settings_that_are_wrong_or_not_the_users) {
    const auto refused = [](const kafka::consumer_options& o, const char* says) {
        try {
            const kafka::consumer c(o);
            ADD_FAILURE() << says;
        } catch (const std::invalid_argument& e) {
            expect_in(e.what(), says);
        }
    };
    refused({.client = {.brokers = "a:1"}}, "consumer_options::group is empty");
    refused({.client = {}, .group = "g"}, "client_options::brokers is empty");
    refused({.client = {.brokers = "a:1", .settings = {{"group.id", "x"}}}, .group = "g"},
            "use consumer_options::group");
    refused({.client = {.brokers = "a:1", .settings = {{"enable.auto.commit", "true"}}}, .group = "g"},
            "use consumer::commit()");
    refused({.client = {.brokers = "a:1", .settings = {{"client.id", "x"}}}, .group = "g"},
            "use client_options::client_id");
    refused({.client = {.brokers = "a:1", .settings = {{"no.such", "x"}}}, .group = "g"}, "no.such");
    refused({.client = {.brokers = "a:1"}, .group = "g", .session_timeout = 0ms}, "session.timeout.ms");
}

TEST(kafka_consumer_death, closed_and_polled_is_told) {
    EXPECT_DEATH(
        {
            kafka::consumer none;
            (void)none.positions();
        },
        "an operation of a Kafka consumer that is closed");
}

}  // namespace
