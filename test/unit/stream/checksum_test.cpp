// The values are those of the reference implementation (xxhsum -H1).
#include <coflux/stream/detail/checksum.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace {

std::uint64_t sum_of(std::string_view text) {
    return coflux::stream::detail::checksum(std::as_bytes(std::span(text)));
}

TEST(checksum, is_xxh64) {
    EXPECT_EQ(sum_of(""), 0xef46db3751d8e999U);
    EXPECT_EQ(sum_of("a"), 0xd24ec4f1a98c6e5bU);
    EXPECT_EQ(sum_of("abc"), 0x44bc2cf5ad770999U);
    EXPECT_EQ(sum_of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1U);
}

TEST(checksum, differs_with_each_length_and_each_byte) {
    std::set<std::uint64_t> sums;
    for (std::size_t n = 0; n != 100; ++n) {
        const std::string zeros(n, '\0');
        EXPECT_TRUE(sums.insert(sum_of(zeros)).second) << n;
        for (std::size_t i = 0; i != n; ++i) {
            std::string other = zeros;
            other[i] = 1;
            EXPECT_TRUE(sums.insert(sum_of(other)).second) << n << ", " << i;
        }
    }
}

}  // namespace
