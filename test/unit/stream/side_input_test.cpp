#include <coflux/stream/side_input.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::on_pool;
using product = std::pair<std::uint64_t, std::string>;

TEST(side_input, is_read_to_its_end_and_has_the_last_row_of_a_key) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        std::vector<product> rows;
        for (std::uint64_t i = 0; i != 5000; ++i) rows.push_back({i % 2500, std::to_string(i)});
        stream::memory_source products(rows);
        const auto names = co_await stream::read_side_input(here, products, &product::first);
        EXPECT_EQ(names.size(), 2500U);
        EXPECT_EQ(names.find(2500), nullptr);

        stream::memory_source orders(stream_test::orders(1000));
        stream::memory_sink<std::string> sink;
        (void)co_await stream::run(here, stream::from(orders) | stream::map([names](const stream_test::order& o) {
                                             return names.find(o.customer)->second;
                                         }) | stream::to(sink),
                                   stream::job{.workers = 2});
        EXPECT_EQ(sink.values().size(), 1000U);
        EXPECT_EQ(sink.values()[7], "2507");
    });
}

}  // namespace
