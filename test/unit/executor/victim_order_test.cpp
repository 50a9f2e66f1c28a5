// The order in which a thief looks at the other workers of its pool.
#include "../../../src/executor/pool/victim_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../../src/executor/pool/worker_places.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::detail::victim_order;
using coflux::detail::worker_places;
using workers = std::vector<std::size_t>;

struct nothing {
    explicit operator bool() const { return false; }
};

workers looks(const victim_order& order, std::size_t self, std::size_t n, std::uint32_t random) {
    workers seen;
    (void)order.first(self, n, random, [&](std::size_t i) {
        seen.push_back(i);
        return nothing();
    });
    return seen;
}

TEST(victim_order, without_ranks_is_the_ring_from_a_random_worker_on) {
    const victim_order order;
    EXPECT_EQ(looks(order, 1, 4, 0), (workers{0, 2, 3}));
    EXPECT_EQ(looks(order, 1, 4, 6), (workers{2, 3, 0}));
    EXPECT_EQ(looks(order, 1, 4, 1), (workers{2, 3, 0}));
    EXPECT_EQ(looks(order, 0, 1, 5), workers{});
}

TEST(victim_order, looks_at_each_rank_after_the_lower_ones) {
    const victim_order order(2, {4, 1, 0, 4, 1, 2});
    EXPECT_EQ(looks(order, 2, 6, 0), (workers{1, 4, 5, 0, 3}));
    EXPECT_EQ(looks(order, 2, 6, 1), (workers{4, 1, 5, 3, 0}));
}

TEST(victim_order, begins_a_rank_with_each_of_its_workers_in_turn) {
    const victim_order order(0, {0, 3, 3, 3, 7});
    std::set<std::size_t> first;
    for (std::uint32_t random = 0; random < 3; ++random) {
        const workers seen = looks(order, 0, 5, random);
        first.insert(seen.front());
        EXPECT_EQ(seen.back(), 4U);
    }
    EXPECT_EQ(first.size(), 3U);
}

TEST(victim_order, of_a_lone_worker_is_empty) {
    EXPECT_EQ(looks(victim_order(0, {0}), 0, 1, 9), workers{});
}

TEST(victim_order, ends_with_what_is_found) {
    const victim_order order(0, {0, 1, 2, 3});
    int calls = 0;
    const std::size_t found = order.first(0, 4, 0, [&](std::size_t i) {
        ++calls;
        return i == 2 ? i : 0;
    });
    EXPECT_EQ(found, 2U);
    EXPECT_EQ(calls, 2);
}

/// Two nodes of two cores with two threads each: n and n + 4 are siblings, 0 and 1 are in the first node.
class two_nodes : public testing::Test {
protected:
    two_nodes() {
        write("cpu/online", "0-7");
        write("node/node0/cpulist", "0-1,4-5");
        write("node/node1/cpulist", "2-3,6-7");
        for (unsigned n = 0; n < 8; ++n) {
            const unsigned core = n % 4;
            write("cpu/cpu" + std::to_string(n) + "/topology/core_cpus_list",
                  std::to_string(core) + "," + std::to_string(core + 4));
        }
    }

    void write(const std::string& file, const std::string& text) const {
        folder_.file("devices/system/" + file, text + "\n");
    }
    [[nodiscard]] worker_places places(std::size_t n) const { return {coflux::topology::read_from(folder_.path()), n}; }

    coflux_test::temporary_folder folder_;
};

TEST_F(two_nodes, have_a_worker_on_each_core_before_their_siblings) {
    const worker_places p = places(10);
    workers at;
    for (std::size_t i = 0; i < 10; ++i) at.push_back(p.processor_of(i).value());
    EXPECT_EQ(at, (workers{0, 1, 2, 3, 4, 5, 6, 7, 0, 1})) << "and begin again where there are more workers";
}

TEST_F(two_nodes, let_a_thief_steal_from_its_sibling_then_in_its_node_then_elsewhere) {
    const worker_places p = places(8);
    for (std::size_t self = 0; self < 8; ++self) {
        for (std::uint32_t random = 0; random < 4; ++random) {
            const workers seen = looks(p.victims_of(self), self, 8, random);
            ASSERT_EQ(seen.size(), 7U);
            EXPECT_EQ(seen[0], (self + 4) % 8);
            const auto node = [](std::size_t worker) { return worker % 4 / 2; };
            for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(node(seen[i]) == node(self), i < 3) << self;
        }
    }
}

TEST(worker_places, of_workers_that_are_not_bound_say_nothing) {
    const worker_places p;
    EXPECT_FALSE(p.processor_of(3).has_value());
    EXPECT_EQ(looks(p.victims_of(3), 3, 5, 0), (workers{0, 1, 2, 4}));
}

}  // namespace
