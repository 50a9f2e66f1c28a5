// Machines that a test has made up, below a folder in place of /sys.
#include <coflux/executor/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/executor/thread_pool.hpp>

#include "../../../src/executor/detail/machine_parts.hpp"
#include "../../../src/executor/pool/spin_budget.hpp"
#include "../../../src/os/thread/sysfs.hpp"
#include "../../../src/os/thread/thread.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::processor_distance;
using coflux::topology;
using numbers = std::vector<unsigned>;

std::string list(const numbers& all) {
    std::string text;
    for (const unsigned n : all) text += (text.empty() ? "" : ",") + std::to_string(n);
    return text;
}

class machine {
public:
    void write(const std::string& file, const std::string& text) const {
        folder_.file("devices/system/" + file, text + "\n");
    }
    void cpu(unsigned n, const std::string& file, const std::string& text) const {
        write("cpu/cpu" + std::to_string(n) + "/" + file, text);
    }
    void cache(unsigned n, int index, int level, const std::string& type, const std::string& size,
               const numbers& shared) const {
        const std::string folder = "cache/index" + std::to_string(index) + "/";
        cpu(n, folder + "level", std::to_string(level));
        cpu(n, folder + "type", type);
        cpu(n, folder + "size", size);
        cpu(n, folder + "coherency_line_size", "64");
        cpu(n, folder + "shared_cpu_list", list(shared));
    }
    void node(unsigned n, const std::string& cpus) const { write("node/node" + std::to_string(n) + "/cpulist", cpus); }

    [[nodiscard]] topology read(numbers allowed = {}, std::optional<double> quota = std::nullopt) const {
        return topology::read_from(folder_.path(), std::move(allowed), quota);
    }

private:
    coflux_test::temporary_folder folder_;
};

/// Two sockets of four cores with two threads each: n and n + 8 are siblings, 0 to 3 are in the first socket. Cores 0
/// and 1 of a socket share a cache of level 2, and so do 2 and 3.
void two_sockets(const machine& m) {
    m.write("cpu/online", "0-15");
    m.node(0, "0-3,8-11");
    m.node(1, "4-7,12-15");
    for (unsigned n = 0; n < 16; ++n) {
        const unsigned core = n % 8;
        const unsigned socket = core / 4;
        const unsigned pair = core / 2 * 2;
        const unsigned first = socket * 4;
        const numbers siblings{core, core + 8};
        m.cpu(n, "topology/core_cpus_list", list(siblings));
        m.cpu(n, "topology/core_id", std::to_string(core % 4 * 8));  // the same numbers in both sockets, with holes
        m.cpu(n, "topology/physical_package_id", std::to_string(socket));
        m.cache(n, 0, 1, "Data", "48K", siblings);
        m.cache(n, 1, 1, "Instruction", "32K", {n});
        m.cache(n, 2, 2, "Unified", "2048K", {pair, pair + 1, pair + 8, pair + 9});
        m.cache(n, 3, 3, "Unified", "36M",
                {first, first + 1, first + 2, first + 3, first + 8, first + 9, first + 10, first + 11});
    }
}

numbers numbers_of(const topology& t) {
    numbers all;
    for (const auto& p : t.processors()) all.push_back(p.number);
    return all;
}
numbers cores_of(const topology& t) {
    numbers all;
    for (const auto& p : t.processors()) all.push_back(p.core);
    return all;
}

TEST(topology, of_two_sockets_has_their_processors_cores_and_nodes) {
    const machine m;
    two_sockets(m);
    const topology t = m.read();
    EXPECT_EQ(t.processors().size(), 16U);
    EXPECT_EQ(t.physical_cores(), 8U);
    EXPECT_EQ(t.numa_nodes(), 2U);
    EXPECT_EQ(t.worker_count(), 16U);
    EXPECT_EQ(t.quota(), std::nullopt);
    EXPECT_EQ(cores_of(t), (numbers{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}));
    const auto& p = t.processors()[13];
    EXPECT_EQ(p.number, 13U);
    EXPECT_EQ(p.core, 5U);
    EXPECT_EQ(p.package, 1U);
    EXPECT_EQ(p.node, 1U);
}

TEST(topology, knows_which_processors_share_a_cache_and_leaves_out_those_of_instructions) {
    const machine m;
    two_sockets(m);
    const topology t = m.read();
    EXPECT_EQ(t.caches().size(), 8U + 4U + 2U);
    const auto& of = t.processors()[13].caches;
    ASSERT_EQ(of.size(), 3U);
    EXPECT_EQ(t.caches()[of[0]], (topology::cache{1, 48U << 10U, 64, {5, 13}}));
    EXPECT_EQ(t.caches()[of[1]], (topology::cache{2, 2U << 20U, 64, {4, 5, 12, 13}}));
    EXPECT_EQ(t.caches()[of[2]], (topology::cache{3, 36U << 20U, 64, {4, 5, 6, 7, 12, 13, 14, 15}}));
}

TEST(topology, orders_the_distances) {
    const machine m;
    two_sockets(m);
    const topology t = m.read();
    EXPECT_EQ(t.distance(3, 3), processor_distance::same_core);
    EXPECT_EQ(t.distance(0, 8), processor_distance::same_core);
    EXPECT_EQ(t.distance(0, 9), processor_distance::shared_l2);
    EXPECT_EQ(t.distance(2, 0), processor_distance::shared_l3);
    EXPECT_EQ(t.distance(0, 4), processor_distance::other_node);
    EXPECT_LT(processor_distance::same_core, processor_distance::shared_l2);
    EXPECT_LT(processor_distance::shared_l2, processor_distance::shared_l3);
    EXPECT_LT(processor_distance::shared_l3, processor_distance::same_node);
    EXPECT_LT(processor_distance::same_node, processor_distance::other_node);
}

TEST(topology, binds_to_all_cores_in_turn_before_their_siblings) {
    const machine m;
    two_sockets(m);
    EXPECT_EQ(m.read().binding_order(), (numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(m.read({8, 0, 12, 5, 4, 13}).binding_order(), (numbers{0, 4, 5, 8, 12, 13}));
}

// As some firmware counts: siblings are neighbours, and sockets take turns.
TEST(topology, binds_by_place_and_not_by_number) {
    const machine m;
    m.write("cpu/online", "0-7");
    m.node(0, "0,1,4,5");
    m.node(1, "2,3,6,7");
    for (unsigned n = 0; n < 8; ++n) {
        m.cpu(n, "topology/thread_siblings_list", list({n / 2 * 2, n / 2 * 2 + 1}));
        m.cpu(n, "topology/physical_package_id", std::to_string(n / 2 % 2));
    }
    EXPECT_EQ(m.read().binding_order(), (numbers{0, 4, 2, 6, 1, 5, 3, 7}));
    EXPECT_EQ(m.read().physical_cores(), 4U);
}

// One node of two dies, each with its cache of level 3, in which two cores at a time share one of level 2.
TEST(topology, binds_next_to_each_other_what_shares_a_cache) {
    const machine m;
    m.write("cpu/online", "0-7");
    for (unsigned n = 0; n < 8; ++n) {
        m.cpu(n, "topology/core_cpus_list", std::to_string(n));
        m.cache(n, 0, 2, "Unified", "1M", {n % 4, n % 4 + 4});
        m.cache(n, 1, 3, "Unified", "32M", {n % 2, n % 2 + 2, n % 2 + 4, n % 2 + 6});
    }
    EXPECT_EQ(m.read().binding_order(), (numbers{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(topology, has_only_what_may_be_used) {
    const machine m;
    two_sockets(m);
    const topology t = m.read({9, 2, 1, 77});
    EXPECT_EQ(numbers_of(t), (numbers{1, 2, 9}));
    EXPECT_EQ(cores_of(t), (numbers{0, 1, 0})) << "counted from 0 without holes";
    EXPECT_EQ(t.physical_cores(), 2U);
    EXPECT_EQ(t.numa_nodes(), 1U);
    ASSERT_EQ(t.caches().size(), 2U + 2U + 1U);
    EXPECT_EQ(t.caches().back().processors, (numbers{1, 2, 9}));
    EXPECT_EQ(t.distance(1, 9), processor_distance::same_core);
    EXPECT_EQ(t.distance(1, 2), processor_distance::shared_l3);
}

TEST(topology, without_folders_of_caches_goes_by_core_and_node) {
    const machine m;
    m.write("cpu/online", "0-3");
    m.node(0, "0-1");
    m.node(1, "2-3");
    for (unsigned n = 0; n < 4; ++n) m.cpu(n, "topology/core_cpus_list", std::to_string(n));
    const topology t = m.read();
    EXPECT_TRUE(t.caches().empty());
    EXPECT_EQ(t.distance(0, 1), processor_distance::same_node);
    EXPECT_EQ(t.distance(1, 2), processor_distance::other_node);
    EXPECT_EQ(t.binding_order(), (numbers{0, 1, 2, 3}));
}

TEST(topology, counts_over_holes_and_without_a_list_of_what_is_online) {
    const machine m;
    for (const unsigned n : {3U, 70U, 71U, 200U}) m.cpu(n, "topology/core_id", std::to_string(n));
    m.write("cpu/cpufreq/boost", "1");
    m.write("cpu/cpuidle", "");
    m.node(4, "70-71,200");
    const topology t = m.read();
    EXPECT_EQ(numbers_of(t), (numbers{3, 70, 71, 200}));
    EXPECT_EQ(t.physical_cores(), 4U);
    EXPECT_EQ(t.processors()[3].node, 4U);
    EXPECT_EQ(t.numa_nodes(), 2U);
    EXPECT_EQ(t.distance(70, 200), processor_distance::same_node);
    EXPECT_EQ(t.distance(3, 200), processor_distance::other_node);
}

TEST(topology, leaves_out_processors_that_do_not_run) {
    const machine m;
    two_sockets(m);
    m.write("cpu/online", "0-6,8-15");
    m.cpu(15, "online", "0");
    m.cpu(14, "online", "1");
    EXPECT_EQ(numbers_of(m.read()), (numbers{0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14}));
    EXPECT_EQ(numbers_of(m.read({7, 14, 15})), (numbers{14}));
    EXPECT_EQ(numbers_of(m.read({7, 15})), (numbers{7, 15})) << "the system schedules by the affinity";
}

TEST(topology, tells_cores_of_different_packages_apart_where_siblings_are_not_listed) {
    const machine m;
    m.write("cpu/online", "0-7");
    for (unsigned n = 0; n < 8; ++n) {
        m.cpu(n, "topology/core_id", std::to_string(n / 2 % 2));
        m.cpu(n, "topology/physical_package_id", std::to_string(n / 4));
    }
    EXPECT_EQ(cores_of(m.read()), (numbers{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(topology, of_a_machine_that_says_nothing_is_flat) {
    const machine m;
    EXPECT_EQ(numbers_of(m.read()), numbers{0});
    const topology t = m.read({2, 5});
    EXPECT_EQ(numbers_of(t), (numbers{2, 5}));
    EXPECT_EQ(t.physical_cores(), 2U);
    EXPECT_EQ(t.numa_nodes(), 1U);
    EXPECT_EQ(t.distance(2, 5), processor_distance::same_node);
}

TEST(topology, reads_over_what_it_does_not_understand) {
    const machine m;
    m.write("cpu/online", "all of them");
    m.node(0, "3-1");
    m.cpu(0, "topology/core_cpus_list", "4-5");  // it is not among them
    m.cpu(0, "topology/physical_package_id", "-1");
    m.cache(0, 0, 2, "Unified", "large", {});
    m.cpu(1, "cache/index0/size", "1K");
    const topology t = m.read();
    EXPECT_EQ(numbers_of(t), (numbers{0, 1}));
    EXPECT_EQ(t.physical_cores(), 2U);
    ASSERT_EQ(t.caches().size(), 1U);
    EXPECT_EQ(t.caches()[0], (topology::cache{2, 0, 64, {0}}));
}

TEST(topology, of_half_a_processor_has_one_worker_that_does_not_spin) {
    const machine m;
    two_sockets(m);
    const topology half = m.read({}, 0.5);
    EXPECT_EQ(half.quota(), 0.5);
    EXPECT_EQ(half.worker_count(), 1U);
    EXPECT_FALSE(coflux::detail::spin_budget::may_look(half.worker_count(), 1));
    EXPECT_EQ(half.processors().size(), 16U) << "a share of time says nothing of where";
}

TEST(topology, has_a_worker_for_each_whole_processor_of_the_quota) {
    const machine m;
    two_sockets(m);
    EXPECT_EQ(m.read({}, 2.5).worker_count(), 2U);
    EXPECT_EQ(m.read({}, 64.0).worker_count(), 16U);
    EXPECT_EQ(m.read({1, 2, 3}, 8.0).worker_count(), 3U);
}

TEST(topology, of_this_process_is_what_the_pool_is_made_for) {
    const topology& here = topology::of_this_process();
    EXPECT_EQ(here.worker_count(), coflux::detail::os::usable_processors());
    EXPECT_EQ(coflux::thread_pool_executor().size(), here.worker_count());
    EXPECT_EQ(&topology::of_this_process(), &here);
    EXPECT_EQ(topology::read(), here);
    numbers order = here.binding_order();
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, numbers_of(here));
}

TEST(topology, is_the_same_by_hwloc) {
    if (!coflux::detail::has_hwloc()) GTEST_SKIP() << "built without hwloc";
    const topology by_sysfs =
        topology::read_from("/sys", coflux::detail::os::allowed_processors(), topology::of_this_process().quota());
    EXPECT_FALSE(coflux::detail::parts_by_hwloc().processors.empty());
    EXPECT_EQ(topology::read().processors(), by_sysfs.processors());
    EXPECT_EQ(topology::read().caches(), by_sysfs.caches());
}

TEST(topology_death, is_what_the_distance_of_an_unknown_processor_comes_to) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH((void)topology::read_from("/nowhere").distance(0, 4711), "processor 4711 is not one that the process");
}

TEST(sysfs, reads_lists_of_processors) {
    using coflux::detail::os::list_of;
    EXPECT_EQ(list_of("0-2,5\n"), (numbers{0, 1, 2, 5}));
    EXPECT_EQ(list_of("7,3,3"), (numbers{3, 7}));
    EXPECT_EQ(list_of(""), numbers{});
    for (const char* const text : {"a", "1-", "-1", "3-1", "1,,2", "0-4000000000", "1 2"})
        EXPECT_EQ(list_of(text), std::nullopt) << text;
}

}  // namespace
