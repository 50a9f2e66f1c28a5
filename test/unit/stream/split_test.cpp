#include <coflux/stream/split.hpp>

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::on_pool;
using either = std::variant<int, std::string>;

TEST(split, takes_each_alternative_to_its_sink) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<either>{1, "a", 2, 3, "b"});
        stream::memory_sink<int> numbers;
        stream::memory_sink<std::string> texts;
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::to(stream::split(numbers, texts)));
        EXPECT_EQ(report.outputs, 5U);
        EXPECT_EQ(numbers.values(), (std::vector{1, 2, 3}));
        EXPECT_EQ(texts.values(), (std::vector<std::string>{"a", "b"}));
    });
}

TEST(split, has_writes_that_fail_tried_again) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<either>{1, "a"});
        stream::memory_sink<int> numbers;
        int left = 1;
        stream_test::refusing_sink<std::string> texts([&](const std::string&) { return left-- > 0; });
        (void)co_await stream::run(here, stream::from(source) | stream::to(stream::split(numbers, texts)),
                                   stream::job{.retries = {.attempts = 1, .first = std::chrono::nanoseconds(1)}});
        EXPECT_EQ(texts.values, (std::vector<std::string>{"a"}));
        EXPECT_EQ(numbers.values(), (std::vector{1, 1}));
    });
}

}  // namespace
