#include <coflux/io/result.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "few_descriptors.hpp"
#include "support/no_hang.hpp"

namespace {

using coflux::io_result;

TEST(io_result, has_a_value_or_an_error) {
    io_result<int> good(3);
    EXPECT_TRUE(good.has_value());
    EXPECT_EQ(*good, 3);
    EXPECT_EQ(good.value(), 3);
    EXPECT_FALSE(good.error());

    io_result<int> bad(std::make_error_code(std::errc::broken_pipe));
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.error(), std::errc::broken_pipe);
    EXPECT_THROW((void)bad.value(), std::system_error);
}

TEST(io_result, that_is_const_gives_its_value) {
    const io_result<std::string> good(std::string("text"));
    EXPECT_EQ(good.value(), "text");
    EXPECT_EQ(*good, "text");
    EXPECT_EQ(good->size(), 4U);
    const io_result<std::string> bad(std::make_error_code(std::errc::broken_pipe));
    EXPECT_THROW((void)bad.value(), std::system_error);
}

TEST(io_result, gives_a_value_that_only_moves) {
    io_result<std::unique_ptr<int>> r(std::make_unique<int>(4));
    EXPECT_EQ(**r, 4);
    const std::unique_ptr<int> taken = std::move(r).value();
    EXPECT_EQ(*taken, 4);
}

TEST(io_result, of_nothing_says_whether_it_failed) {
    const io_result<void> good;
    EXPECT_TRUE(good);
    good.value();
    const io_result<void> bad(std::make_error_code(std::errc::timed_out));
    EXPECT_FALSE(bad.has_value());
    EXPECT_THROW(bad.value(), std::system_error);
}

/// The thread has no event source yet, and the system gives none.
coflux::task<int, coflux::worker_executor> waits_without_descriptors(coflux::environment&) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    const coflux_test::few_descriptors none(0);
    const auto refused = co_await coflux::as_result(listener.accept());
    if (refused.error() != std::errc::too_many_files_open) co_return 1;
    const auto limited = co_await coflux::timeout(coflux::as_result(listener.accept()), std::chrono::hours(1));
    if (limited.timed_out() || limited.error() != std::errc::too_many_files_open) co_return 2;
    try {
        (void)co_await listener.accept();
    } catch (const std::system_error& e) {
        co_return e.code() == std::errc::too_many_files_open ? 7 : 3;
    }
    co_return 4;
}
TEST(io_result_death, has_the_error_of_a_system_that_lets_nothing_wait) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto child = [] {
        coflux_test::die_rather_than_hang();
        coflux::worker_executor on;
        auto env = coflux::make_environment(on);
        std::_Exit(waits_without_descriptors(env).get());
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(7), "");
}

}  // namespace
