// kafka::message: what it is without a broker. producer_test.cpp and consumer_test.cpp have those that came.
#include <coflux/kafka/message.hpp>

#include <array>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

static_assert(std::is_nothrow_move_constructible_v<kafka::message> &&
              std::is_nothrow_move_assignable_v<kafka::message>);
static_assert(!std::is_copy_constructible_v<kafka::message>);

TEST(kafka_message, of_none_has_nothing) {
    const kafka::message none;
    EXPECT_FALSE(none.has_key() || none.has_value());
    EXPECT_TRUE(none.topic().empty());
    EXPECT_EQ(none.header_count(), 0U);
    EXPECT_FALSE(none.time().has_value());
    EXPECT_FALSE(none.find_header("x").has_value());
}

TEST(kafka_message, has_a_position_behind_it) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        co_await sends_numbers(here, out, "numbers", 3, 0);
        co_await sends_numbers(here, out, "numbers", 5, 1);
        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"numbers", 0, kafka::place::beginning}, {"numbers", 1, kafka::place::beginning}});
        std::vector<kafka::message> got;
        EXPECT_TRUE(kafka::positions_behind(got).empty());
        co_await polls_until(here, in, got, 8);
        auto behind = kafka::positions_behind(got);
        if (behind.front().partition != 0) std::swap(behind.front(), behind.back());
        EXPECT_EQ(behind, (std::vector<kafka::position>{{"numbers", 0, 3}, {"numbers", 1, 5}}));
        co_await in.close(here);
    });
}

TEST(kafka_message, keeps_key_value_headers_and_time) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer out(cluster.producer());
        const std::array headers{kafka::header{"trace", "abc"}, kafka::header{"empty", ""},
                                 kafka::header{"null", std::nullopt}, kafka::header{"trace", "def"}};
        const std::chrono::sys_time<std::chrono::milliseconds> then(1'234'567'890'123ms);
        const std::string_view with_zero("a\0b", 3);
        co_await out.send(
            here, {.topic = "all", .partition = 0, .key = "k", .value = with_zero, .headers = headers, .time = then});
        co_await out.send(here, {.topic = "all", .partition = 0, .key = "", .value = ""});
        co_await out.send(here, {.topic = "all", .partition = 0, .key = "gone"});
        std::vector<kafka::header> many;
        for (int i = 0; i < 40; ++i) many.push_back({"h", "v"});
        co_await out.send(here, {.topic = "all", .partition = 0, .headers = many});
        co_await out.flush(here);

        kafka::consumer in(cluster.member_of("readers"));
        co_await in.assign(here, {{"all", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, in, got, 4);
        EXPECT_EQ(got[0].key(), "k");
        EXPECT_EQ(got[0].value(), with_zero);
        EXPECT_EQ(got[0].time(), then);
        EXPECT_EQ(got[0].header_count(), 4U);
        EXPECT_EQ(got[0].header(0).value, "abc");
        EXPECT_EQ(got[0].header(1).value, "");
        EXPECT_FALSE(got[0].header(2).value.has_value());
        EXPECT_EQ(got[0].find_header("trace")->value, "def");
        EXPECT_FALSE(got[0].find_header("other").has_value());
        EXPECT_TRUE(got[1].has_key() && got[1].key().empty());
        EXPECT_TRUE(got[1].has_value() && got[1].value().empty());
        EXPECT_EQ(got[1].header_count(), 0U);
        EXPECT_TRUE(got[2].has_key());
        EXPECT_FALSE(got[2].has_value());
        EXPECT_FALSE(got[3].has_key());
        EXPECT_EQ(got[3].header_count(), 40U);
        // Views stay where they are.
        const std::string_view before = got[0].value();
        kafka::message moved = std::move(got[0]);
        EXPECT_EQ(moved.value().data(), before.data());
        EXPECT_FALSE(got[0].has_value());  // NOLINT(bugprone-use-after-move)
        got[1] = std::move(moved);
        EXPECT_EQ(got[1].value(), with_zero);
        co_await in.close(here);
        co_await out.close(here);
    });
}

}  // namespace
