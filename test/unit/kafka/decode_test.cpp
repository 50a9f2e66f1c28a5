// kafka::decode: poison becomes dead letters, first, in the middle and last.
#include <coflux/kafka/decode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

TEST(kafka_decode, puts_aside_what_cannot_be_read_with_the_bytes_that_came) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        const std::vector<kafka::header> headers{{"from", "test"}};
        for (int i = 0; i < 101; ++i) {
            const std::string text =
                i == 0 || i == 50 || i == 100 ? "poison\x01" + std::to_string(i) : std::to_string(i);
            co_await out.send(here,
                              {.topic = "numbers", .partition = 0, .key = "k", .value = text, .headers = headers});
        }
        co_await out.send(here, {.topic = "numbers", .partition = 0, .key = "gone"});
        co_await out.send(here, {.topic = "numbers", .partition = 0, .value = "101"});
        co_await out.flush(here);
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::job_control control;
        draining_sink sink(99, control);
        stream::memory_sink<stream::dead_letter> dead;
        const auto report = co_await stream::run(
            here, stream::from(in) | kafka::decode(number_of) | stream::to(sink),
            stream::job{.workers = 1, .max_batch = 10, .on_error = stream::dead_letters(dead), .control = &control});
        EXPECT_EQ(sink.values.size(), 99U);
        EXPECT_EQ(report.dead, 4U);
        std::vector<std::string> bytes;
        for (const auto& letter : dead.values()) {
            EXPECT_EQ(letter.partition, "numbers/0");
            bytes.push_back(letter.original.value);
        }
        EXPECT_EQ(bytes, (std::vector<std::string>{"poison\x01"
                                                   "0",
                                                   "poison\x01"
                                                   "50",
                                                   "poison\x01"
                                                   "100",
                                                   ""}));
        if (dead.values().size() == 4) {
            const auto& first = dead.values()[0];
            EXPECT_EQ(first.next, 1);
            EXPECT_EQ(first.original.key, "k");
            EXPECT_EQ(first.original.headers, (std::vector<std::pair<std::string, std::string>>{{"from", "test"}}));
            expect_in(first.error, "numbers/0, offset 0: ");
            expect_in(dead.values()[3].error, "numbers/0, offset 101: it has no value");
        }
        co_await in.close(here);
    });
}

TEST(kafka_decode, gives_a_function_that_wants_it_the_whole_message) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 3);
        co_await out.send(here, {.topic = "numbers", .partition = 0, .key = "7"});
        co_await out.flush(here);
        kafka::source in(cluster.member_of("readers"), {"numbers"});
        stream::job_control control;
        draining_sink sink(4, control);
        const auto key_of = [](const kafka::message& m) {
            return m.has_value() ? number_of(m.value()) : -number_of(m.key());
        };
        (void)co_await stream::run(here, stream::from(in) | kafka::decode(key_of) | stream::to(sink),
                                   stream::job{.workers = 1, .control = &control});
        EXPECT_EQ(sink.values, (std::vector{0, 1, 2, -7}));
        co_await in.close(here);
    });
}

}  // namespace
