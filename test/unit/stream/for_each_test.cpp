#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "jobs.hpp"

namespace {

using stream_test::on_pool;
namespace stream = coflux::stream;

TEST(for_each, calls_a_function_with_each_output) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        std::vector<int> seen;
        const auto report =
            co_await stream::run(here, stream::from(stream::memory_source<int>(std::vector{1, 2, 3})) |
                                           stream::to(stream::for_each([&](int i) { seen.push_back(i); })));
        EXPECT_EQ(seen, (std::vector{1, 2, 3}));
        EXPECT_EQ(report.outputs, 3U);
    });
}

TEST(for_each, fails_the_job_with_what_the_function_throws) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        EXPECT_THROW((void)co_await stream::run(
                         here, stream::from(stream::memory_source<int>(std::vector{1})) |
                                   stream::to(stream::for_each([](int) { throw std::runtime_error("full"); }))),
                     std::runtime_error);
    });
}

}  // namespace
