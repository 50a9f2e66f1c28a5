#include <coflux/stream/detail/keyed_table.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace stream = coflux::stream;

TEST(keyed_table, is_a_map) {
    stream::detail::keyed_table<int, int> table;
    std::map<int, int> model;
    std::mt19937 random(1);
    for (int i = 0; i != 200'000; ++i) {
        const int key = static_cast<int>(random() % 500);
        switch (random() % 5) {
        case 0: EXPECT_EQ(table.erase(key), model.erase(key) == 1); break;
        case 1: {
            const int* const found = std::as_const(table).find(key);
            ASSERT_EQ(found != nullptr, model.contains(key));
            if (found != nullptr) {
                EXPECT_EQ(*found, model[key]);
            }
            break;
        }
        case 2: {
            int value = i;
            table.set(key, std::move(value));
            model[key] = i;
            break;
        }
        default: table[key] = i; model[key] = i;
        }
        ASSERT_EQ(table.size(), model.size());
    }
    std::map<int, int> walked;
    for (const auto& each : table) walked.emplace(each.key, each.state);
    EXPECT_EQ(walked, model);
}

TEST(keyed_table, takes_a_key_that_is_a_part_of_the_state) {
    const std::string name = "a key that has memory of its own";
    stream::detail::keyed_table<std::string, std::pair<std::string, int>> table;
    for (int i = 0; i != 2; ++i) {
        std::pair state(name, i);
        table.set(state.first, std::move(state));
        ASSERT_EQ(table.size(), 1U);
        ASSERT_NE(table.find(name), nullptr);
        EXPECT_EQ(*table.find(name), std::pair(name, i));
    }
}

TEST(keyed_table, gives_back_what_was_stored) {
    stream::detail::keyed_table<std::string, int> table;
    for (int i = 0; i != 100; ++i) table["key " + std::to_string(i)] = i;
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    table.save(out);
    stream::detail::keyed_table<std::string, int> other;
    other["old"] = 1;
    stream::state_reader in(bytes);
    other.load(in);
    EXPECT_EQ(other.size(), 100U);
    EXPECT_EQ(other.find("old"), nullptr);
    for (int i = 0; i != 100; ++i) EXPECT_EQ(other["key " + std::to_string(i)], i);
}

TEST(keyed_table, goes_on_as_a_map_from_what_was_stored) {
    for (int n = 0; n != 200; ++n) {
        stream::detail::keyed_table<int, int> stored;
        for (int i = 0; i != n; ++i) stored[i * 7] = i;
        std::vector<std::byte> bytes;
        stream::state_writer out(bytes);
        stored.save(out);
        stream::detail::keyed_table<int, int> table;
        stream::state_reader in(bytes);
        table.load(in);
        ASSERT_EQ(in.left(), 0U);
        ASSERT_EQ(table.size(), static_cast<std::size_t>(n));
        EXPECT_EQ(table.find(-1), nullptr);
        for (int i = 0; i < n; i += 2) EXPECT_TRUE(table.erase(i * 7));
        for (int i = n; i != 2 * n + 1; ++i) table[i * 7] = i;
        for (int i = 0; i != 2 * n + 1; ++i) {
            const int* const found = table.find(i * 7);
            ASSERT_EQ(found != nullptr, i >= n || i % 2 == 1) << n << ": " << i;
            if (found != nullptr) {
                EXPECT_EQ(*found, i);
            }
        }
    }
}

// So many that keys meet whose cells have the same part of the hash.
TEST(keyed_table, tells_all_of_many_keys_apart) {
    constexpr int n = 100'000;
    stream::detail::keyed_table<int, int> stored;
    for (int i = 0; i != n; ++i) stored[i] = i;
    for (int i = 0; i < n; i += 3) ASSERT_TRUE(stored.erase(i));
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    stored.save(out);
    stream::detail::keyed_table<int, int> loaded;
    stream::state_reader in(bytes);
    loaded.load(in);
    for (const auto* const table : {&stored, &loaded}) {
        ASSERT_EQ(table->size(), static_cast<std::size_t>(n - (n + 2) / 3));
        for (int i = 0; i != 2 * n; ++i) {
            const int* const found = table->find(i);
            ASSERT_EQ(found != nullptr, i < n && i % 3 != 0) << i;
            if (found != nullptr) {
                ASSERT_EQ(*found, i);
            }
        }
    }
}

TEST(keyed_table, refuses_a_key_that_was_stored_twice_and_too_few_bytes) {
    stream::detail::keyed_table<int, int> table;
    table[1] = 1;
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out.size(3);
    out(4, 40, 5, 50, 4, 41);
    for (const std::size_t size : {bytes.size(), bytes.size() - 1}) {
        stream::state_reader in(std::span(bytes).first(size));
        EXPECT_THROW(table.load(in), stream::corrupt_state);
        EXPECT_EQ(table.size(), 1U);
        EXPECT_NE(table.find(1), nullptr);
        EXPECT_EQ(table.find(4), nullptr);
    }
}

TEST(keyed_table, is_empty_at_first) {
    stream::detail::keyed_table<int, int> table;
    EXPECT_TRUE(table.is_empty());
    EXPECT_EQ(table.find(1), nullptr);
    EXPECT_FALSE(table.erase(1));
}

}  // namespace
