#include <coflux/stream/record.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::on_pool;

TEST(batch, has_what_was_read_with_its_record_where_others_have_nothing) {
    const auto read = [](const char* value) {
        return std::make_shared<const stream::original>(stream::original{{}, value, {}});
    };
    stream::batch<int> b;
    b.push_back({1});
    b.push_back({2}, read("two"));
    b.push_back({3});
    b.push_back({4}, read("four"));
    b.push_back({5});
    const char* const expected[] = {nullptr, "two", nullptr, "four", nullptr};
    for (std::size_t i = 0; i != b.size(); ++i) {
        const auto kept = b.original_of(i);
        EXPECT_EQ(kept.get(), b[i].original);
        EXPECT_EQ(kept == nullptr ? "" : kept->value, expected[i] == nullptr ? "" : expected[i]);
    }
    b.pop_back();
    b.pop_back();
    b.push_back({6});
    EXPECT_EQ(b.original_of(3), nullptr);
    EXPECT_EQ(b.original_of(1)->value, "two");
}

TEST(batch, keeps_its_records_where_they_are_while_there_is_room) {
    stream::batch<int> b;
    b.reserve(100);
    b.push_back({0});
    const auto* const first = &b[0];
    for (int i = 1; i != 100; ++i) {
        EXPECT_TRUE(b.has_room());
        b.push_back({i});
    }
    EXPECT_EQ(&b[0], first);
}

struct counts_moves {
    int number = 0;
    int moves = 0;
    counts_moves() = default;
    explicit counts_moves(int n) : number(n) {}
    counts_moves(counts_moves&& from) noexcept : number(from.number), moves(from.moves + 1) {}
    counts_moves& operator=(counts_moves&&) = default;
};

TEST(batch, makes_a_record_where_it_stays) {
    stream::batch<counts_moves> b;
    b.reserve(2);
    b.emplace_back([] { return counts_moves(7); }, stream::no_time, 3, 1);
    b.push_back({counts_moves(8)});
    EXPECT_EQ(b[0].value.number, 7);
    EXPECT_EQ(b[0].value.moves, 0);
    EXPECT_EQ(b[0].next, 3);
    EXPECT_EQ(b[0].partition, 1U);
    EXPECT_EQ(b[0].original, nullptr);
    EXPECT_NE(b[1].value.moves, 0);
    for (const std::size_t room : {std::size_t{0}, std::size_t{10}}) {
        stream::batch<counts_moves> other;
        other.emplace_back([] { return counts_moves(1); }, stream::no_time, 1);
        other.reserve(room);
        const auto fails = []() -> counts_moves { throw std::runtime_error("no value"); };
        EXPECT_THROW(other.emplace_back(fails, stream::no_time, 2), std::runtime_error);
        EXPECT_EQ(other.size(), 1U);
        EXPECT_EQ(other[0].value.number, 1);
    }
}

/// Has no memory, or no key, for the first attempt of a value.
struct fails_once {
    std::size_t asked = 0;
    std::size_t operator()(const std::string& text) {
        if (++asked == 2) throw std::runtime_error("once");
        return text.size();
    }
};

// A value that goes on as it came is moved: the attempt that fails must give it back.
TEST(batch, of_a_link_that_refuses_a_value_leaves_it_to_the_next_attempt) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        const std::string text = "which is longer than a small string";
        stream::memory_source source(std::vector<std::string>{text, text, text});
        stream::memory_sink<std::string> sink;
        fails_once fails;
        const auto key = [&](const std::string& of) { return fails(of); };
        const auto report = co_await stream::run(
            here,
            stream::from(source) | stream::by_partition() | stream::filter([](const std::string&) { return true; }) |
                stream::by_key(key) | stream::to(sink),
            stream::job{.workers = 1, .retries = {.attempts = 1, .first = std::chrono::milliseconds(1)}});
        EXPECT_EQ(report.retried, 1U);
        EXPECT_EQ(sink.values(), (std::vector<std::string>{text, text, text}));
    });
}

}  // namespace
