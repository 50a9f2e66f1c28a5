#include <coflux/io/owned_descriptor.hpp>

#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace {

using coflux::owned_descriptor;

bool is_open(int number) {
    return fcntl(number, F_GETFD) >= 0;
}

TEST(owned_descriptor, closes_what_it_owns) {
    const int number = dup(0);
    {
        const owned_descriptor d(number);
        EXPECT_TRUE(d.is_open());
        EXPECT_EQ(d.native_handle(), number);
    }
    EXPECT_FALSE(is_open(number));
    const owned_descriptor none;
    EXPECT_FALSE(none.is_open());
}

TEST(owned_descriptor, moves_and_closes_what_it_had) {
    const int one = dup(0);
    const int two = dup(0);
    owned_descriptor a(one);
    owned_descriptor b(two);
    a = std::move(b);
    EXPECT_FALSE(is_open(one));
    EXPECT_EQ(a.native_handle(), two);
    EXPECT_FALSE(b.is_open());
    owned_descriptor c(std::move(a));
    EXPECT_TRUE(is_open(two));
    c.close();
    EXPECT_FALSE(is_open(two));
}

TEST(owned_descriptor, gives_up_what_it_releases) {
    const int number = dup(0);
    {
        owned_descriptor d(number);
        EXPECT_EQ(d.release(), number);
    }
    EXPECT_TRUE(is_open(number));
    close(number);
}

}  // namespace
