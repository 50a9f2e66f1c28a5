#include <coflux/stream/aggregate.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::drive;
using coflux_test::ms;
using stream::keyed;

template <typename A>
auto result_of(const A& a, const std::vector<int>& values) {
    stream::aggregate_state<A, int> state{};
    for (const int v : values) a.add(state, v);
    return a.result(state);
}
// The same, out of two parts.
template <typename A>
auto merged_result_of(const A& a, const std::vector<int>& values, std::size_t split) {
    stream::aggregate_state<A, int> first{};
    stream::aggregate_state<A, int> second{};
    for (std::size_t i = 0; i != values.size(); ++i) a.add(i < split ? first : second, values[i]);
    a.merge(first, second);
    return a.result(std::move(first));
}
template <typename A>
void expect_merges(const A& a) {
    std::minstd_rand random(7);
    for (int round = 0; round != 50; ++round) {
        std::vector<int> values(1 + random() % 20);
        for (int& v : values) v = static_cast<int>(random() % 9) - 4;
        for (std::size_t split = 0; split <= values.size(); ++split) {
            EXPECT_EQ(merged_result_of(a, values, split), result_of(a, values));
        }
    }
}

const std::identity itself;

TEST(aggregate, counts_and_sums) {
    EXPECT_EQ(result_of(stream::count(), {5, 5, 5}), 3U);
    EXPECT_EQ(result_of(stream::sum(itself), {5, -7, 1}), -1);
    EXPECT_EQ(result_of(stream::min(itself), {5, -7, 1}), -7);
    EXPECT_EQ(result_of(stream::max(itself), {5, -7, 1}), 5);
    EXPECT_EQ(result_of(stream::mean(itself), {5, -7, 4}), 2.0 / 3);
}

TEST(aggregate, merges_parts_as_if_they_were_one) {
    expect_merges(stream::count());
    expect_merges(stream::sum(itself));
    expect_merges(stream::min(itself));
    expect_merges(stream::max(itself));
    expect_merges(stream::mean(itself));
    expect_merges(stream::collect());
    expect_merges(stream::top(3, itself));
    expect_merges(stream::top(3, [](int v) { return v / 2; }));
}

TEST(aggregate, sums_whole_numbers_in_sixty_four_bits_and_wraps) {
    EXPECT_EQ(result_of(stream::sum(itself), {std::numeric_limits<int>::max(), 1}), std::int64_t{1} << 31);
    const stream::sum wide([](int) { return std::numeric_limits<std::int64_t>::max(); });
    EXPECT_EQ(result_of(wide, {1, 1}), -2);
}

TEST(aggregate, top_has_those_that_tie_with_the_last) {
    EXPECT_EQ(result_of(stream::top(1, itself), {3, 7, 7, 2}), (std::vector{7, 7}));
    EXPECT_EQ(result_of(stream::top(2, itself), {1, 5, 3, 5, 3, 3}), (std::vector{5, 5}));
    EXPECT_EQ(result_of(stream::top(3, itself), {1, 5, 3, 5, 3}), (std::vector{5, 5, 3, 3}));
    EXPECT_EQ(result_of(stream::top(9, itself), {1, 2}), (std::vector{2, 1}));
    EXPECT_THROW(stream::top(0, itself), std::invalid_argument);
}

TEST(aggregate, is_a_stage_that_gives_the_result_so_far) {
    auto slot = drive<int, std::string>(stream::sum(itself));
    slot.process("a", ms(1), 5);
    slot.process("b", ms(1), 1);
    slot.restart();
    slot.process("a", ms(1), 2);
    using out = keyed<std::string, std::int64_t>;
    EXPECT_EQ(slot.values(), (std::vector<out>{{"a", 5}, {"b", 1}, {"a", 7}}));
    EXPECT_TRUE(slot.touched());
}

/// One of a user: it refuses values that are negative.
struct product {
    using state = double;
    void add(double& s, int value) const {
        if (value < 0) throw std::runtime_error("negative");
        s = (s == 0 ? 1 : s) * value;
    }
    void merge(double& s, double later) const { s = s == 0 ? later : later == 0 ? s : s * later; }
    double result(double s) const { return s; }
};

TEST(aggregate, of_a_user_runs_and_may_throw_without_a_trace) {
    auto slot = drive<int, int>(stream::running(product()));
    slot.process(1, ms(1), 3);
    EXPECT_THROW(slot.process(1, ms(1), -1), std::runtime_error);
    EXPECT_FALSE(slot.touched());
    EXPECT_THROW(slot.process(2, ms(1), -1), std::runtime_error);
    slot.process(1, ms(1), 4);
    slot.process(2, ms(1), 5);
    EXPECT_EQ(slot.values(), (std::vector<keyed<int, double>>{{1, 3}, {1, 12}, {2, 5}}));
}

}  // namespace
