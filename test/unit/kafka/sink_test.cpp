// kafka::sink, on the brokers of rdkafka_mock.h.
#include <coflux/kafka/sink.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace coflux_test {

struct customer_sum {
    std::string customer;
    int sum = 0;
};

}  // namespace coflux_test

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;
using total = customer_sum;

std::vector<total> totals(int count) {
    std::vector<total> all;
    for (int i = 0; i < count; ++i) all.push_back({"customer " + std::to_string(i % 10), i});
    return all;
}
std::string text_of_total(const total& t) {
    return std::to_string(t.sum);
}

TEST(kafka_sink, sends_each_value_with_its_key) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::memory_source source(totals(500));
        kafka::sink out(cluster.producer(), "totals", kafka::keyed(&total::customer, text_of_total));
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::to(out), stream::job{.workers = 1});
        EXPECT_EQ(report.outputs, 500U);
        co_await out.close(here);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.subscribe(here, {"totals"});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 500);
        // A customer's are in one partition, in order.
        std::map<std::string, int> last;
        std::map<std::string, std::int32_t> where;
        for (const kafka::message& m : got) {
            const std::string customer(m.key());
            const int sum = number_of(m.value());
            EXPECT_TRUE(last.find(customer) == last.end() || last[customer] < sum);
            last[customer] = sum;
            EXPECT_EQ(where.try_emplace(customer, m.partition()).first->second, m.partition());
        }
        EXPECT_EQ(last.size(), 10U);
        co_await in.close(here);
    });
}

TEST(kafka_sink, lets_an_encoder_set_all_of_a_message) {
    mock_cluster cluster;
    cluster.make_topic("totals", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::memory_source source(totals(1));
        const std::vector<kafka::header> headers{{"by", "test"}};
        const auto encode = [&headers](const total& t, kafka::outgoing& m) {
            m.key = t.customer;
            m.partition = 1;
            m.headers = headers;
        };
        kafka::sink out(cluster.producer(), "totals", encode);
        (void)co_await stream::run(here, stream::from(source) | stream::to(out), stream::job{.workers = 1});
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"totals", 1, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 1);
        EXPECT_EQ(got.at(0).key(), "customer 0");
        EXPECT_FALSE(got.at(0).has_value());
        EXPECT_TRUE(got.at(0).find_header("by").has_value());
        co_await in.close(here);
        co_await out.close(here);
    });
}

TEST(kafka_sink, waits_for_room) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        std::vector<std::string> texts;
        for (int i = 0; i < 300; ++i) texts.push_back(std::to_string(i));
        stream::memory_source source(texts);
        auto options = cluster.producer();
        options.most_messages = 10;
        kafka::sink<> out(options, "numbers");
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::to(out), stream::job{.workers = 1});
        EXPECT_EQ(report.outputs, 300U);
        co_await out.close(here);
    });
}

TEST(kafka_sink, lets_the_job_put_aside_what_its_encoder_refuses) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::memory_source source(totals(20));
        const auto encode = [](const total& t, kafka::outgoing& m) {
            if (t.sum % 7 == 3) throw std::invalid_argument("no message for it");
            m.value = t.customer;
        };
        kafka::sink out(cluster.producer(), "totals", encode);
        stream::memory_sink<stream::dead_letter> dead;
        const auto report = co_await stream::run(here, stream::from(source) | stream::to(out),
                                                 stream::job{.workers = 1, .on_error = stream::dead_letters(dead)});
        EXPECT_EQ(report.dead, 3U);
        for (const auto& letter : dead.values()) EXPECT_EQ(letter.stage, "sink");
        co_await out.close(here);
    });
}

TEST(kafka_sink, fails_the_job_where_a_message_was_not_delivered) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::memory_source source(std::vector<std::string>{"x"});
        kafka::sink<> out(cluster.producer(), "numbers");
        cluster.answers(request::produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        bool has_failed = false;
        try {
            (void)co_await stream::run(here, stream::from(source) | stream::to(out), stream::job{.workers = 1});
        } catch (const kafka::error& e) {
            has_failed = true;
            expect_in(e.what(), "TOPIC_AUTHORIZATION_FAILED");
        }
        EXPECT_TRUE(has_failed);
        co_await out.close(here);
    });
}

TEST(kafka_sink, says_why_no_broker_answers) {
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::memory_source source(std::vector<std::string>{"x"});
        kafka::sink<> out({.client = {.brokers = "127.0.0.1:1", .request_timeout = 300ms}}, "numbers");
        std::string told;
        stream::job_control control;
        try {
            (void)co_await stream::run(
                here, stream::from(source) | stream::to(out),
                stream::job{.workers = 1, .retries = {.attempts = 2, .first = 1ms}, .control = &control});
        } catch (const kafka::error& e) {
            told = e.what();
        }
        expect_in(told, "no broker of '127.0.0.1:1' answered within 300 ms");
        EXPECT_EQ(control.snapshot().retried, 2U);
        co_await out.close(here);
    });
}

}  // namespace
