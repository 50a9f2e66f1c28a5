#include <coflux/stream/detail/keyed_table.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

namespace stream = coflux::stream;

TEST(keyed_table, is_a_map) {
    stream::detail::keyed_table<int, int> table;
    std::map<int, int> model;
    std::mt19937 random(1);
    for (int i = 0; i != 200'000; ++i) {
        const int key = static_cast<int>(random() % 500);
        switch (random() % 4) {
        case 0: EXPECT_EQ(table.erase(key), model.erase(key) == 1); break;
        case 1: {
            const int* const found = table.find(key);
            ASSERT_EQ(found != nullptr, model.contains(key));
            if (found != nullptr) EXPECT_EQ(*found, model[key]);
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

TEST(keyed_table, is_empty_at_first) {
    stream::detail::keyed_table<int, int> table;
    EXPECT_TRUE(table.is_empty());
    EXPECT_EQ(table.find(1), nullptr);
    EXPECT_FALSE(table.erase(1));
}

}  // namespace
