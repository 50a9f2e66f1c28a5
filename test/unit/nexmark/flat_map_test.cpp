#include <nexmark/flat_map.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace {

using lab::nexmark::flat_map;

std::map<std::int64_t, int> contents_of(const flat_map<int>& table) {
    std::map<std::int64_t, int> found;
    table.for_each([&found](std::int64_t key, int value) { EXPECT_TRUE(found.emplace(key, value).second) << key; });
    EXPECT_EQ(found.size(), table.size());
    return found;
}

TEST(flat_map, is_a_map_whatever_is_done_to_it) {
    std::mt19937 random{1};
    for (const int keys : {5, 60, 3'000}) {
        flat_map<int> table;
        std::map<std::int64_t, int> model;
        for (int i = 0; i < 20'000; ++i) {
            const std::int64_t key = static_cast<std::int64_t>(random() % static_cast<unsigned>(keys)) * 64;
            switch (random() % 4) {
            case 0:
                table.erase(key);
                model.erase(key);
                break;
            case 1: {
                const int* const found = table.find(key);
                ASSERT_EQ(found != nullptr, model.contains(key));
                ASSERT_TRUE(found == nullptr || *found == model.at(key));
                break;
            }
            default: table[key] += i; model[key] += i;
            }
        }
        ASSERT_EQ(contents_of(table), model);
        const auto is_odd = [](std::int64_t, int value) { return value % 2 != 0; };
        table.erase_if(is_odd);
        std::erase_if(model, [&](const auto& each) { return is_odd(each.first, each.second); });
        ASSERT_EQ(contents_of(table), model);
        table.clear();
        ASSERT_EQ(contents_of(table).size(), 0U);
    }
}

}  // namespace
