#include <coflux/stream/detail/hot_keys.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hot_keys_test {

enum class colour : unsigned char { green = 2 };
struct named {
    int number;
    friend bool operator==(named, named) = default;
    friend std::uint64_t hash_of_key(named n) { return coflux::stream::key_hash()(n.number); }
    friend std::string to_string(named n) { return "n" + std::to_string(n.number); }
};
struct nameless {
    friend bool operator==(nameless, nameless) = default;
    friend std::uint64_t hash_of_key(nameless) { return 0xab; }
};

}  // namespace hot_keys_test

namespace {

using namespace hot_keys_test;
using coflux::stream::detail::hot_keys;
using coflux::stream::detail::hot_share;
using coflux::stream::detail::published_share;
using coflux::stream::detail::text_of_key;

TEST(hot_keys, have_a_text) {
    EXPECT_EQ(text_of_key(-7), "-7");
    EXPECT_EQ(text_of_key(std::string("ann")), "ann");
    EXPECT_EQ(text_of_key(colour::green), "2");
    EXPECT_EQ(text_of_key(std::pair(1, std::string("b"))), "(1, b)");
    EXPECT_EQ(text_of_key(std::tuple(1, std::pair(2, 3))), "(1, (2, 3))");
    EXPECT_EQ(text_of_key(named{3}), "n3");
    EXPECT_EQ(text_of_key(nameless{}), "#00000000000000ab");
}

TEST(hot_keys, are_none_where_all_keys_have_as_much) {
    hot_keys keys(1);
    for (int i = 0; i != 1'000; ++i) keys.add(i % 100);
    const auto share = keys.take();
    ASSERT_TRUE(share.has_value());
    EXPECT_EQ(share->seen, 0U);
    EXPECT_EQ(share->samples, 1'000U);
}

TEST(hot_keys, are_found_among_many_others) {
    // Space-saving keeps each key that has more than an eighth, wherever it is.
    for (const int at : {0, 1, 2, 3}) {
        hot_keys keys(1);
        int other = 1'000;
        for (int i = 0; i != 1'000; ++i) keys.add(i % 4 == at ? 7 : ++other);
        const auto share = keys.take();
        ASSERT_TRUE(share.has_value());
        EXPECT_EQ(share->name(), "7");
        EXPECT_LE(share->seen, 250U);
        EXPECT_GE(share->seen, 125U);
    }
}

TEST(hot_keys, say_nothing_of_few_samples_and_begin_anew) {
    hot_keys keys(1);
    for (std::uint32_t i = 1; i != hot_keys::least_samples; ++i) keys.add(std::string("ann"));
    EXPECT_FALSE(keys.take().has_value());
    keys.add(std::string("ann"));
    EXPECT_EQ(keys.take()->seen, hot_keys::least_samples);
    for (std::uint32_t i = 0; i != hot_keys::least_samples; ++i)
        keys.add(std::string("a key of which no more than its begin is kept"));
    EXPECT_EQ(keys.take()->name(), "a key of which no more than its ");
}

TEST(hot_keys, look_at_each_64th_record_whatever_the_batches_are) {
    for (const std::size_t batch : {1U, 7U, 64U, 1'000U}) {
        hot_keys keys(3);
        std::size_t looked = 0;
        constexpr std::size_t records = 1'000'000;
        for (std::size_t i = 0; i < records; i += batch) {
            keys.look(batch, [&](std::size_t at) {
                EXPECT_LT(at, batch);
                ++looked;
                return at;
            });
        }
        EXPECT_NEAR(static_cast<double>(looked), records / 64.5, records / 64.5 / 20);
    }
}

TEST(published_share, is_read_as_a_whole_or_not_at_all) {
    published_share published;
    EXPECT_FALSE(published.get().has_value());
    std::atomic<bool> ends{false};
    std::thread writer([&] {
        for (std::uint32_t i = 1; i != 200'000; ++i) {
            hot_share share;
            share.text.fill(static_cast<char>('a' + i % 26));
            share.seen = i;
            share.samples = i;
            published.set(share);
        }
        ends = true;
    });
    while (!ends) {
        const auto share = published.get();
        if (!share) continue;
        EXPECT_EQ(share->seen, share->samples);
        EXPECT_EQ(share->text[0], static_cast<char>('a' + share->seen % 26));
        EXPECT_EQ(share->text[31], share->text[0]);
    }
    writer.join();
    EXPECT_EQ(published.get()->seen, 199'999U);
}

}  // namespace
