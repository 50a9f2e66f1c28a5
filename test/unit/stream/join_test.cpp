#include <coflux/stream/join.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::drive;
using coflux_test::ms;
using namespace std::chrono_literals;

struct left {
    int number = 0;
    template <typename A>
    void fields(A& all) {
        all(number);
    }
};
struct right {
    int number = 0;
    template <typename A>
    void fields(A& all) {
        all(number);
    }
};
using both = std::variant<left, right>;
using pair = std::pair<int, int>;

pair numbers(const left& l, const right& r) {
    return {l.number, r.number};
}

struct arrival {
    int key;
    std::int64_t time;  // ms
    bool is_left;
    bool is_late;
};

// Number `i` is that of the i-th arrival.
template <typename Slot>
std::vector<arrival> feed(Slot& slot, std::uint32_t seed, std::int64_t lateness) {
    std::minstd_rand random(seed);
    std::vector<arrival> all;
    std::int64_t now = -100;
    std::int64_t latest = now;
    std::int64_t watermark = INT64_MIN;
    for (int i = 0; i != 300; ++i) {
        now += static_cast<std::int64_t>(random() % 4);
        const std::int64_t time = now - static_cast<std::int64_t>(random() % 10);
        latest = std::max(latest, time);
        const int key = static_cast<int>(random() % 3);
        const bool is_left = random() % 2 == 0;
        all.push_back({key, time, is_left, time < watermark});
        slot.process(key, ms(time), is_left ? both(left{i}) : both(right{i}));
        if (random() % 8 == 0 && latest - lateness > watermark) {
            watermark = latest - lateness;
            slot.advance(ms(watermark));
        }
        if (random() % 50 == 0) slot.restart();
    }
    slot.advance(stream::end_of_time);
    return all;
}

template <typename Meet>
std::vector<pair> pairs_of(const std::vector<arrival>& all, Meet meet) {
    std::vector<pair> pairs;
    for (std::size_t l = 0; l != all.size(); ++l) {
        for (std::size_t r = 0; r != all.size(); ++r) {
            if (!all[l].is_left || all[r].is_left || all[l].key != all[r].key) continue;
            if (all[l].is_late || all[r].is_late || !meet(all[l].time, all[r].time)) continue;
            pairs.push_back({static_cast<int>(l), static_cast<int>(r)});
        }
    }
    return pairs;
}

template <typename T>
std::vector<T> sorted(std::vector<T> values) {
    std::ranges::sort(values);
    return values;
}

TEST(join, gives_the_pairs_of_the_model) {
    const std::pair<std::int64_t, std::int64_t> bounds[] = {{-5, 5}, {0, 0}, {0, 20}, {-20, -3}, {4, 9}};
    for (const auto& [lower, upper] : bounds) {
        for (std::uint32_t seed = 1; seed != 20; ++seed) {
            auto slot = drive<both, int>(stream::join(stream::within(lower * 1ms, upper * 1ms), numbers));
            const auto all = feed(slot, seed, seed % 2 == 0 ? 10 : 2);
            const auto expected = pairs_of(all, [&](auto l, auto r) { return l + lower <= r && r <= l + upper; });
            EXPECT_EQ(sorted(slot.values()), sorted(expected)) << lower << " to " << upper << ", seed " << seed;
            EXPECT_EQ(slot.late(), static_cast<std::uint64_t>(std::ranges::count(all, true, &arrival::is_late)));
            for (const auto& out : slot.outputs()) {
                const auto time = std::max(all[static_cast<std::size_t>(out.value.first)].time,
                                           all[static_cast<std::size_t>(out.value.second)].time);
                EXPECT_EQ(out.time, ms(time));
            }
        }
    }
}

TEST(join, gives_the_pairs_of_a_window) {
    for (std::uint32_t seed = 1; seed != 20; ++seed) {
        auto slot = drive<both, int>(stream::join(stream::tumbling(7ms), numbers));
        const auto all = feed(slot, seed, 5);
        const auto window = [](std::int64_t t) { return (t + 7000) / 7; };
        const auto expected = pairs_of(all, [&](auto l, auto r) { return window(l) == window(r); });
        EXPECT_EQ(sorted(slot.values()), sorted(expected)) << seed;
    }
    EXPECT_THROW((void)stream::join(stream::sliding(10ms, 5ms), numbers), std::invalid_argument);
    EXPECT_THROW(stream::within(1ms, 0ms), std::invalid_argument);
}

TEST(join, keeps_nothing_that_can_meet_no_more) {
    auto slot = drive<both, int>(stream::join(stream::within(-5ms, 5ms), numbers, {.by_slot = 2}));
    for (int i = 0; i != 100; ++i) {
        slot.process(i, ms(i * 20), left{i});
        slot.process(i, ms(i * 20 + 5), right{i});
        slot.advance(ms(i * 20 + 11));
    }
    EXPECT_EQ(slot.values().size(), 100U);
}

// A join saves all that it holds.
TEST(join, holds_few_values_that_can_meet_no_more) {
    const auto slot_of = [] { return drive<both, int>(stream::join(stream::within(0ms, 10ms), numbers)); };
    const auto size_of = [&](int values) {
        auto slot = slot_of();
        for (int i = 0; i != values; ++i) slot.process(i, ms(0), left{i});
        return slot.saved().size();
    };
    auto new_keys = slot_of();
    auto lefts_of_one_key = slot_of();
    for (int i = 0; i != 10'000; ++i) {
        for (auto* slot : {&new_keys, &lefts_of_one_key}) {
            slot->process(slot == &new_keys ? i : 1, ms(i), left{i});
            slot->advance(ms(i));
        }
    }
    EXPECT_LE(new_keys.saved().size(), size_of(3 * 11));
    new_keys.advance(stream::end_of_time);
    EXPECT_EQ(new_keys.saved().size(), size_of(0));
    new_keys.process(1, ms(10'000), left{1});  // a source that has grown
    new_keys.advance(ms(10'001));
    new_keys.process(1, ms(10'001), right{2});
    EXPECT_EQ(new_keys.values(), (std::vector<pair>{{1, 2}}));
    EXPECT_LE(lefts_of_one_key.saved().size(), size_of(3 * 11));

    auto idle_keys = slot_of();
    for (int i = 0; i != 1'000; ++i) idle_keys.process(i % 100, ms(0), left{i});
    for (int i = 0; i != 201; ++i) {
        idle_keys.process(1'000, ms(100 + i), right{i});
        idle_keys.advance(ms(100 + i));
    }
    EXPECT_LE(idle_keys.saved().size(), size_of(1));
}

TEST(join, counts_no_value_for_a_limit_that_can_meet_no_more) {
    auto of_key = drive<both, int>(stream::join(stream::within(0ms, 10ms), numbers, {.by_key = 4}));
    auto of_slot = drive<both, int>(stream::join(stream::within(0ms, 10ms), numbers, {.by_slot = 4}));
    for (int i = 0; i != 1'000; ++i) {
        of_key.process(1, ms(4 * i), left{i});
        of_key.advance(ms(4 * i));
        of_slot.process(i % 7, ms(4 * i), left{i});
        of_slot.advance(ms(4 * i));
    }
    for (auto* slot : {&of_key, &of_slot}) {
        slot->process(1, ms(3'997), left{0});
        EXPECT_THROW(slot->process(1, ms(3'998), left{0}), stream::state_full);
    }
}

TEST(join, refuses_or_evicts_what_is_more_than_its_limits) {
    auto refusing = drive<both, int>(stream::join(stream::within(-50ms, 50ms), numbers, {.by_key = 2, .by_slot = 3}));
    refusing.process(1, ms(1), left{1});
    refusing.process(1, ms(2), right{2});
    EXPECT_THROW(refusing.process(1, ms(3), left{3}), stream::state_full);
    EXPECT_FALSE(refusing.touched());
    refusing.process(2, ms(4), left{4});
    EXPECT_THROW(refusing.process(3, ms(5), left{5}), stream::state_full);

    auto evicting = drive<both, int>(stream::join(stream::within(-50ms, 50ms), numbers, {.by_key = 2, .evicts = true}));
    evicting.process(1, ms(1), left{1});
    evicting.process(1, ms(2), left{2});
    evicting.process(1, ms(3), left{3});
    EXPECT_THROW(evicting.process(1, ms(4), right{4}), stream::state_full);
    EXPECT_EQ(evicting.late(), 1U);
}

TEST(join, keeps_no_more_bytes_than_its_limit) {
    constexpr std::size_t value = sizeof(int);
    const auto slot_of = [&] {
        return drive<both, int>(stream::join(stream::within(0ms, 10ms), numbers, {.bytes_by_slot = 3 * value + 1}));
    };
    auto slot = slot_of();
    for (int i = 0; i != 2; ++i) slot.process(i, ms(i), left{i});
    slot.process(1, ms(2), right{7});
    try {
        slot.process(3, ms(3), left{3});
        ADD_FAILURE() << "it kept a fourth value";
    } catch (const stream::state_full& e) {
        EXPECT_NE(std::string(e.what()).find("13 bytes, its join_limits::bytes_by_slot"), std::string::npos);
    }
    EXPECT_FALSE(slot.touched());
    EXPECT_EQ(slot.values(), (std::vector<pair>{{1, 7}}));
    auto other = slot_of();
    other.load(slot.saved());
    for (auto* const each : {&slot, &other}) {
        EXPECT_THROW(each->process(1, ms(4), left{4}), stream::state_full);
        each->advance(ms(12));  // all three can meet no more
        for (int i = 0; i != 3; ++i) each->process(5, ms(12), left{5});
        EXPECT_THROW(each->process(5, ms(12), left{5}), stream::state_full);
        each->advance(stream::end_of_time);
        for (int i = 0; i != 3; ++i) each->process(i, ms(20), left{i});
        EXPECT_THROW(each->process(5, ms(20), left{5}), stream::state_full);
    }

    auto evicting = drive<both, int>(
        stream::join(stream::within(-50ms, 50ms), numbers, {.by_key = 2, .bytes_by_slot = 2 * value, .evicts = true}));
    for (int i = 0; i != 10; ++i) evicting.process(1, ms(i), left{i});
    EXPECT_EQ(evicting.late(), 8U);
    EXPECT_THROW(evicting.process(2, ms(10), left{1}), stream::state_full);
}

TEST(join, saturates_at_both_ends_of_time) {
    auto slot = drive<both, int>(stream::join(stream::within(-1h, 1h), numbers));
    slot.process(1, stream::no_time + 1ns, left{1});
    slot.process(1, stream::no_time + 2ns, right{2});
    slot.advance(stream::no_time + 2ns);
    slot.process(1, stream::end_of_time, left{3});
    slot.process(1, stream::end_of_time, right{4});
    slot.advance(stream::end_of_time);
    EXPECT_EQ(slot.values(), (std::vector<pair>{{1, 2}, {3, 4}}));
    EXPECT_THROW(slot.process(1, stream::no_time, left{5}), std::invalid_argument);
}

TEST(join, leaves_no_trace_of_a_pair_that_is_refused) {
    bool fails = true;
    auto slot = drive<both, int>(stream::join(stream::within(-1h, 1h), [&](const left& l, const right& r) {
        return fails ? throw std::runtime_error("refused") : numbers(l, r);
    }));
    slot.process(1, ms(1), left{1});
    EXPECT_THROW(slot.process(1, ms(2), right{2}), std::runtime_error);
    EXPECT_FALSE(slot.touched());
    fails = false;
    slot.process(1, ms(2), right{2});
    EXPECT_EQ(slot.values(), (std::vector<pair>{{1, 2}}));
}

TEST(join, looks_into_a_table) {
    const auto row = [](const left& l, const right* r) { return pair{l.number, r == nullptr ? -1 : r->number}; };
    auto slot = drive<both, int>(stream::join_table(row));
    slot.process(1, ms(1), left{1});
    slot.process(1, ms(1), right{2});
    slot.restart();
    slot.process(1, ms(1), left{3});
    slot.process(1, ms(1), right{4});
    slot.process(1, ms(1), left{5});
    slot.process(2, ms(1), left{6});
    EXPECT_EQ(slot.values(), (std::vector<pair>{{1, -1}, {3, 2}, {5, 4}, {6, -1}}));
}

TEST(join, takes_a_row_away_by_an_empty_optional) {
    using change = std::variant<left, std::optional<right>>;
    const auto is_there = [](const left&, const right* r) { return r != nullptr; };
    auto slot = drive<change, int>(stream::join_table(is_there));
    slot.process(1, ms(1), std::optional(right{1}));
    slot.process(1, ms(1), left{1});
    slot.process(1, ms(1), std::optional<right>());
    slot.process(1, ms(1), left{1});
    EXPECT_EQ(slot.values(), (std::vector<bool>{true, false}));
}

TEST(join, has_no_partner_behind_the_end_of_time) {
    using either = std::variant<int, int>;
    const auto slot_of = [](stream::within bounds) {
        return drive<either, int>(stream::join(bounds, [](int l, int r) { return pair(l, r); }));
    };
    auto behind = slot_of(stream::within(5ns, 10ns));
    behind.process(1, stream::end_of_time, either(std::in_place_index<1>, 2));
    behind.process(1, stream::end_of_time - 1ns, either(std::in_place_index<0>, 1));
    EXPECT_TRUE(behind.values().empty());
    auto before = slot_of(stream::within(-10ns, -5ns));
    before.process(1, stream::no_time + 2ns, either(std::in_place_index<0>, 1));
    before.process(1, stream::no_time + 1ns, either(std::in_place_index<1>, 2));
    EXPECT_TRUE(before.values().empty());
    auto near = slot_of(stream::within(-10ns, 10ns));
    near.process(1, stream::end_of_time - 1ns, either(std::in_place_index<0>, 1));
    near.advance(stream::end_of_time - 2ns);
    near.process(1, stream::end_of_time, either(std::in_place_index<1>, 2));
    EXPECT_EQ(near.values().size(), 1U);
}

}  // namespace
