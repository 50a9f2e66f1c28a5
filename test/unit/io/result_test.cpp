#include <coflux/io/result.hpp>

#include <memory>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

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

}  // namespace
