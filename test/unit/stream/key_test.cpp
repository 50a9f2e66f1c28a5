#include <coflux/stream/key.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace stream = coflux::stream;
constexpr stream::key_hash hash;

TEST(key_hash, tells_parts_with_other_lengths_apart) {
    const auto a = std::make_pair(std::string("a"), std::string("bc"));
    const auto b = std::make_pair(std::string("ab"), std::string("c"));
    EXPECT_NE(hash(a), hash(b));
    EXPECT_NE(hash(std::tuple<std::string, std::string>("", "a")), hash(std::tuple<std::string, std::string>("a", "")));
    EXPECT_NE(hash(std::string(1, '\0')), hash(std::string(2, '\0')));
}

TEST(key_hash, is_the_same_in_each_run) {
    // Slots are stored by it: another value loses the state of all jobs.
    EXPECT_EQ(hash(1), 0xe5fdc025e13eeed5U);
    EXPECT_EQ(hash(std::string("customer")), 0xd1f94eb7687e6854U);
    EXPECT_EQ(hash(std::pair(1, 2)), hash(std::pair(std::int64_t{1}, std::uint8_t{2})));
    EXPECT_EQ(hash(std::string("x")), hash(std::string_view("x")));
}

TEST(key_hash, spreads_keys_over_slots) {
    std::vector<int> of(64);
    for (int key = 0; key != 64'000; ++key) ++of[stream::detail::slot_of(hash(key), 64)];
    for (const int count : of) EXPECT_NEAR(count, 1'000, 200);
    std::set<std::uint32_t> used;
    for (int key = 0; key != 1'000; ++key) used.insert(stream::detail::slot_of(hash("key " + std::to_string(key)), 7));
    EXPECT_EQ(used.size(), 7U);
}

struct point {
    int x;
    int y;
    friend bool operator==(const point&, const point&) = default;
    friend std::uint64_t hash_of_key(const point& p) { return hash(std::pair(p.x, p.y)); }
};
static_assert(stream::key<point>);
TEST(key_hash, takes_the_hash_of_a_users_type) {
    EXPECT_EQ(hash(point{1, 2}), hash(std::pair(1, 2)));
    EXPECT_NE(hash(point{1, 2}), hash(point{2, 1}));
    EXPECT_TRUE((point{1, 2} == point{1, 2}));
}
static_assert(stream::key<std::chrono::seconds>);
static_assert(!stream::key<std::vector<int>>);

}  // namespace
