#include <coflux/stream/describe.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::on_pool;

TEST(describe, names_the_partitioner_of_each_region_and_the_reason) {
    stream::memory_source numbers(std::vector<unsigned>{1, 2});
    stream::memory_sink<unsigned> sink;
    const auto itself = [](unsigned n) { return n; };
    EXPECT_EQ(stream::describe(stream::from(numbers) | stream::map(itself) | stream::to(sink)),
              "region 1: by_partition(), because none is named: the order of each partition of the source is kept\n");
    EXPECT_EQ(stream::describe(stream::from(numbers) | stream::by_key_of_source(itself) | stream::sticky() |
                               stream::by_number(itself) | stream::to_one() | stream::by_key(itself) |
                               stream::round_robin() | stream::by_partition() | stream::to(sink)),
              "region 1: by_key_of_source(): the partitions of the source are by the key, so no record is moved\n"
              "region 2: sticky(): no stage has a state, any worker will do, and batches stay full\n"
              "region 3: by_number(): all records of a number are with one worker\n"
              "region 4: to_one(): its stages need all records\n"
              "region 5: by_key(): all records of a key are with one worker\n"
              "region 6: round_robin(): no stage has a state, any worker will do\n"
              "region 7: by_partition(): the order of each partition is kept\n");
}

/// The sum of each key, behind a partitioner.
template <typename By>
std::map<unsigned, std::uint64_t> sums(const std::vector<std::vector<unsigned>>& partitions, By by) {
    std::map<unsigned, std::uint64_t> all;
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source<unsigned> source(partitions);
        stream::memory_sink<std::pair<unsigned, std::uint64_t>> sink;
        const auto add = [](std::uint64_t& sum, unsigned n, const auto& emit) {
            emit(std::pair<unsigned, std::uint64_t>(n % 10, sum += n));
        };
        (void)co_await stream::run(here,
                                   stream::from(source) | by |
                                       stream::fold<std::uint64_t, std::pair<unsigned, std::uint64_t>>(add) |
                                       stream::to(sink),
                                   stream::job{.workers = 4, .max_batch = 7});
        for (const auto& [key, sum] : sink.values()) all[key] = std::max(all[key], sum);
    });
    return all;
}
TEST(describe, partitioners_by_number_and_by_the_key_of_the_source_give_what_by_key_gives) {
    // Partition `p` has the numbers that end with `p`.
    std::vector<std::vector<unsigned>> partitions(10);
    for (unsigned n = 0; n != 5'000; ++n) partitions[n % 10].push_back(n);
    const auto last_digit = [](unsigned n) { return n % 10; };
    const auto expected = sums(partitions, stream::by_key(last_digit));
    EXPECT_EQ(expected.size(), 10U);
    EXPECT_EQ(sums(partitions, stream::by_number(last_digit)), expected);
    EXPECT_EQ(sums(partitions, stream::by_key_of_source(last_digit)), expected);
}

TEST(describe, a_sticky_partitioner_gives_records_in_a_row_to_a_slot) {
    using routing = stream::detail::routing<stream::sticky, int>;
    const stream::sticky by(3);
    std::uint32_t turn = 0;
    std::vector<std::uint32_t> slots;
    for (int i = 0; i != 8; ++i) slots.push_back(routing::slot(by, {1}, 2, turn));
    EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 0, 0}));
    EXPECT_THROW(stream::sticky(0), std::invalid_argument);
}

}  // namespace
