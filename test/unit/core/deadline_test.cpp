#include <coflux/core/deadline.hpp>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/core/make_environment.hpp>
#include <coflux/executor/noop_executor.hpp>

#include <gtest/gtest.h>

namespace {

using time_point = std::chrono::steady_clock::time_point;

static_assert(
    std::is_same_v<decltype(std::declval<const coflux::environment&>().deadline()), std::optional<time_point>>);

TEST(deadline_time, an_environment_gives_back_what_it_was_given) {
    auto without = coflux::make_environment(coflux::noop_executor{});
    EXPECT_EQ(without.deadline(), std::nullopt);
    const auto when = std::chrono::steady_clock::now() + std::chrono::hours(1);
    auto with = coflux::make_environment(coflux::noop_executor{}, when);
    EXPECT_EQ(with.deadline(), when);
    auto before_the_epoch = coflux::make_environment(coflux::noop_executor{}, time_point::min());
    EXPECT_EQ(before_the_epoch.deadline(), time_point::min());
    auto never = coflux::make_environment(coflux::noop_executor{}, time_point::max());
    EXPECT_EQ(never.deadline(), std::nullopt);
}

}  // namespace
