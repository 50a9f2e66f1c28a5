// kafka::producer, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/producer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

TEST(kafka_producer, counts_what_was_delivered) {
    const mock_cluster cluster;
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await out.connect(here);
        co_await out.flush(here);  // of nothing
        co_await sends_numbers(here, out, "numbers", 5'000, kafka::outgoing::any_partition);
        const kafka::deliveries counted = out.counters();
        EXPECT_EQ(counted.sent, 5'000U);
        EXPECT_EQ(counted.delivered, 5'000U);
        EXPECT_EQ(counted.failed, 0U);
        co_await out.close(here);
        EXPECT_FALSE(out.is_open());
    };
    on_worker(body);
    on_pool(body);
}

TEST(kafka_producer, flushes_at_once_what_lingers) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.producer();
        options.linger = 15min;
        options.delivery_timeout = 30min;
        kafka::producer out(options);
        co_await sends_numbers(here, out, "numbers", 10);
        EXPECT_EQ(out.counters().delivered, 10U);
        co_await out.close(here);
    });
}

TEST(kafka_producer, waits_for_room) {
    const mock_cluster cluster;
    cluster.answers_after(20ms);
    const auto body = [&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.producer();
        options.most_messages = 10;
        kafka::producer out(options);
        std::size_t refused = 0;
        const auto sends = [&](environment&, int from) -> call<void> {
            auto&& self = co_await coflux::context();
            for (int i = from; i < from + 50; ++i) {
                const std::string text = std::to_string(i);
                const kafka::outgoing m{.topic = "numbers", .partition = 0, .value = text};
                if (out.try_send(m)) continue;
                ++refused;
                co_await out.send(self, m);
            }
        };
        // Several wait at a time.
        co_await coflux::when_all(sends(here, 0), sends(here, 50), sends(here, 100));
        co_await out.flush(here);
        EXPECT_GT(refused, 0U);
        EXPECT_EQ(out.counters().delivered, 150U);
        co_await out.close(here);
    };
    on_worker(body);
}

TEST(kafka_producer, that_is_stopped_while_it_waits_for_room_has_not_sent) {
    const mock_cluster cluster;
    cluster.answers_after(200ms);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.producer();
        options.most_messages = 2;
        kafka::producer out(options);
        std::uint64_t sent = 0;
        bool was_stopped = false;
        while (!was_stopped) {
            if (co_await coflux::timeout(out.send(here, {.topic = "numbers", .partition = 0, .value = "x"}), 1ms)) {
                ++sent;
            } else {
                was_stopped = true;
            }
        }
        EXPECT_EQ(out.counters().sent, sent);
        // A flush that is stopped loses nothing, either.
        EXPECT_FALSE(co_await coflux::timeout(out.flush(here), 1ms));
        co_await out.flush(here);
        EXPECT_EQ(out.counters().delivered, sent);
        co_await out.close(here);
    });
}

TEST(kafka_producer, tells_what_was_not_delivered_once) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.producer();
        options.client.settings = {{"enable.idempotence", "false"}};  // where a refusal ends no client
        kafka::producer out(options);
        co_await sends_numbers(here, out, "numbers", 1);
        cluster.answers(request::produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        try {
            co_await sends_numbers(here, out, "numbers", 1);
            ADD_FAILURE() << "it was refused";
        } catch (const kafka::error& e) {
            EXPECT_TRUE(e.code() == kafka::errc::not_allowed) << e.what();
            EXPECT_STREQ(
                e.what(),
                "coflux: Kafka: deliver to numbers [0]: TOPIC_AUTHORIZATION_FAILED: Broker: Topic authorization failed");
        }
        co_await out.flush(here);
        EXPECT_EQ(out.counters().failed, 1U);
        EXPECT_EQ(out.counters().delivered, 1U);
        co_await out.close(here);
    });
}

TEST(kafka_producer, refuses_a_message_that_is_too_large) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        const std::string large(2'000'000, 'x');
        try {
            co_await out.send(here, {.topic = "numbers", .value = large});
            ADD_FAILURE() << "it is too large";
        } catch (const kafka::error& e) {
            EXPECT_TRUE(e.code() == kafka::errc::message_too_large);
            expect_in(e.what(), "send to numbers");
        }
        EXPECT_EQ(out.counters().sent, 0U);
        co_await out.flush(here);
        co_await out.close(here);
    });
}

TEST(kafka_producer, refuses_a_message_for_which_there_is_never_room) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto options = cluster.producer();
        options.most_bytes = 10'000;
        kafka::producer out(options);
        const std::string large(10'001, 'x');
        bool is_refused = false;
        try {
            co_await out.send(here, {.topic = "numbers", .partition = 0, .value = large});
        } catch (const kafka::error& e) {
            is_refused = e.code() == kafka::errc::message_too_large;
            expect_in(e.what(), "there is never room for it: producer_options::most_bytes");
        }
        EXPECT_TRUE(is_refused);
        // Others still wait for room.
        const std::string fits(9'000, 'x');
        for (int i = 0; i < 3; ++i) co_await out.send(here, {.topic = "numbers", .partition = 0, .value = fits});
        co_await out.flush(here);
        EXPECT_EQ(out.counters().delivered, 3U);
        co_await out.close(here);
    });
}

TEST(kafka_producer, tells_that_time_was_up_where_no_broker_is) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(
            {.client = {.brokers = "127.0.0.1:1", .request_timeout = 200ms}, .linger = 0ms, .delivery_timeout = 300ms});
        co_await out.send(here, {.topic = "numbers", .value = "x"});
        co_await out.send(here, {.topic = "numbers", .value = "y"});
        try {
            co_await out.flush(here);
            ADD_FAILURE() << "there is no broker";
        } catch (const kafka::error& e) {
            EXPECT_TRUE(e.code() == kafka::errc::message_timed_out);
            expect_in(e.what(), "2 messages were not delivered; the first: ");
        }
        expect_in(out.last_complaint(), "Connection refused");
        bool failed = false;
        try {
            co_await out.connect(here);
        } catch (const kafka::error& e) {
            failed = true;
            expect_in(e.what(), "no broker of '127.0.0.1:1' answered within 200 ms");
        }
        EXPECT_TRUE(failed);
        co_await out.close(here);
    });
}

TEST(kafka_producer, refuses_settings_that_are_not_the_users) {
    const auto refused = [](const kafka::producer_options& o, const char* says) {
        try {
            const kafka::producer p(o);
            ADD_FAILURE() << says;
        } catch (const std::invalid_argument& e) {
            expect_in(e.what(), says);
        }
    };
    refused({}, "client_options::brokers is empty");
    refused({.client = {.brokers = "a:1", .settings = {{"linger.ms", "1"}}}}, "use producer_options::linger");
    refused({.client = {.brokers = "a:1", .settings = {{"acks", "x"}}}}, "acks");
}

// --- transactions ----------------------------------------------------------------------------------------------------

kafka::producer_options transactional(const mock_cluster& cluster, std::string id = "job") {
    auto options = cluster.producer();
    options.transactional_id = std::move(id);
    return options;
}

TEST(kafka_transactions, take_messages_and_positions) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}});
        co_await out.init_transactions(here);
        co_await out.begin_transaction(here);
        for (int i = 0; i < 100; ++i) co_await out.send(here, {.topic = "outputs", .partition = 0, .value = "x"});
        const std::vector<kafka::position> done{{"numbers", 0, 42}};
        co_await out.send_positions(here, in, done);
        co_await out.commit_transaction(here);
        EXPECT_EQ(out.counters().delivered, 100U);
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST(kafka_transactions, wait_for_a_coordinator_that_loads) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        cluster.answers(request::init_producer_id, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
        co_await out.init_transactions(here);
        co_await out.begin_transaction(here);
        co_await out.commit_transaction(here);
        co_await out.close(here);
    });
}

TEST(kafka_transactions, that_are_aborted_drop_what_was_sent) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        co_await out.init_transactions(here);
        co_await out.begin_transaction(here);
        for (int i = 0; i < 1'000; ++i) co_await out.send(here, {.topic = "outputs", .partition = 0, .value = "x"});
        co_await out.abort_transaction(here);
        // Another one can begin, and what was purged is no error of it.
        co_await out.begin_transaction(here);
        co_await out.send(here, {.topic = "outputs", .partition = 0, .value = "y"});
        co_await out.commit_transaction(here);
        const kafka::deliveries counted = out.counters();
        EXPECT_EQ(counted.sent, 1'001U);
        EXPECT_EQ(counted.delivered + counted.failed, 1'001U);
        co_await out.close(here);
    });
}

TEST(kafka_transactions, must_be_aborted_where_a_message_was_refused) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        co_await out.init_transactions(here);
        co_await out.begin_transaction(here);
        cluster.answers(request::produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        co_await out.send(here, {.topic = "outputs", .partition = 0, .value = "x"});
        bool must_abort = false;
        try {
            co_await out.commit_transaction(here);
        } catch (const kafka::error& e) {
            must_abort = e.requires_abort();
        }
        EXPECT_TRUE(must_abort);
        co_await out.abort_transaction(here);
        co_await out.begin_transaction(here);
        co_await out.commit_transaction(here);
        co_await out.close(here);
    });
}

TEST(kafka_transactions, must_be_aborted_where_they_take_no_message_any_more) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        co_await out.init_transactions(here);
        const kafka::outgoing m{.topic = "outputs", .partition = 0, .value = "x"};
        bool is_refused = false;
        try {
            co_await out.send(here, m);
        } catch (const kafka::error& e) {
            is_refused = true;
            EXPECT_FALSE(e.requires_abort()) << e.what();  // there is none
        }
        EXPECT_TRUE(is_refused);
        co_await out.begin_transaction(here);
        cluster.answers(request::produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        bool must_abort = false;
        try {
            for (;;) co_await out.send(here, m);  // until the first of them was refused
        } catch (const kafka::error& e) {
            must_abort = e.requires_abort();
            expect_in(e.what(), "Topic authorization failed");
        }
        EXPECT_TRUE(must_abort);
        co_await out.abort_transaction(here);
        co_await out.begin_transaction(here);
        co_await out.commit_transaction(here);
        co_await out.close(here);
    });
}

TEST(kafka_transactions, of_a_fenced_producer_are_over) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer zombie(transactional(cluster));
        co_await zombie.init_transactions(here);
        co_await zombie.begin_transaction(here);
        co_await zombie.send(here, {.topic = "outputs", .partition = 0, .value = "x"});
        co_await zombie.flush(here);
        cluster.answers(request::end_transaction, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
        bool is_fatal = false;
        try {
            co_await zombie.commit_transaction(here);
        } catch (const kafka::error& e) {
            is_fatal = e.is_fatal();
            EXPECT_TRUE(e.code() == kafka::errc::fenced) << e.what();
        }
        EXPECT_TRUE(is_fatal);
        co_await zombie.close(here);
    });
}

TEST(kafka_transactions, of_a_fenced_producer_are_over_where_messages_were_not_delivered_yet) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer zombie(transactional(cluster));
        co_await zombie.init_transactions(here);
        co_await zombie.begin_transaction(here);
        // A broker's answer to messages of a producer that another one has fenced.
        cluster.answers(request::produce, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
        const kafka::outgoing m{.topic = "outputs", .partition = 0, .value = "x"};
        co_await zombie.send(here, m);
        const auto expect_fenced = [](const char* where, const kafka::error& e) {
            EXPECT_TRUE(e.is_fatal()) << where << ": " << e.what();
            EXPECT_FALSE(e.requires_abort()) << where << ": " << e.what();
            EXPECT_TRUE(e.code() == kafka::errc::fenced) << where << ": " << e.what();
        };
        int errors = 0;
        try {
            co_await zombie.flush(here);
        } catch (const kafka::error& e) {
            ++errors;
            expect_fenced("flush", e);
            expect_in(e.what(), "coflux: Kafka: deliver what was sent: _FENCED: ");
        }
        try {
            co_await zombie.send(here, m);
        } catch (const kafka::error& e) {
            ++errors;
            expect_fenced("send", e);
        }
        try {
            co_await zombie.commit_transaction(here);
        } catch (const kafka::error& e) {
            ++errors;
            expect_fenced("commit", e);
        }
        try {
            co_await zombie.abort_transaction(here);
        } catch (const kafka::error& e) {
            ++errors;
            expect_fenced("abort", e);
        }
        EXPECT_EQ(errors, 4);
        co_await zombie.close(here);
    });
}

TEST(kafka_transactions, go_on_after_a_stop) {
    const mock_cluster cluster;
    cluster.answers_after(100ms);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(transactional(cluster));
        (void)co_await coflux::timeout(out.init_transactions(here), 1ms);
        co_await out.init_transactions(here);
        co_await out.begin_transaction(here);
        co_await out.send(here, {.topic = "outputs", .partition = 0, .value = "x"});
        EXPECT_FALSE(co_await coflux::timeout(out.commit_transaction(here), 1ms));
        co_await out.commit_transaction(here);
        EXPECT_EQ(out.counters().delivered, 1U);
        co_await out.close(here);
    });
}

}  // namespace
