// How many processors the control groups of a process leave it, read from folders that a test has made.
#include "../../../src/os/thread/cpu_quota.hpp"

#include <cmath>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "../../../src/executor/pool/spin_budget.hpp"
#include "support/temporary_folder.hpp"

namespace {

/// A process's sight of its groups, below a folder of its own.
class groups {
public:
    void list(const std::string& lines) const { write("cgroup", lines); }
    void write(const std::string& file, const std::string& text) const { folder_.file(file, text); }
    /// The quota of 64 processors.
    [[nodiscard]] std::size_t quota() const { return coflux::detail::os::whole_processors(share(), 64); }
    [[nodiscard]] double share() const {
        return coflux::detail::os::cpu_share(folder_.path("cgroup").c_str(), folder_.path().c_str());
    }

private:
    coflux_test::temporary_folder folder_;
};

TEST(cpu_quota, is_that_of_the_group_in_version_2) {
    const groups g;
    g.list("0::/service\n");
    g.write("service/cpu.max", "200000 100000\n");
    EXPECT_EQ(g.quota(), 2U);
}

TEST(cpu_quota, of_less_than_a_processor_is_one_and_of_two_and_a_half_is_two) {
    const groups g;
    g.list("0::/\n");
    g.write("cpu.max", "50000 100000\n");
    EXPECT_EQ(g.quota(), 1U);
    g.write("cpu.max", "250000 100000\n");
    EXPECT_EQ(g.quota(), 2U);
}

TEST(cpu_quota, is_kept_as_a_fraction) {
    const groups g;
    g.list("0::/\n");
    g.write("cpu.max", "50000 100000\n");
    EXPECT_DOUBLE_EQ(g.share(), 0.5);
    g.write("cpu.max", "250000 100000\n");
    EXPECT_DOUBLE_EQ(g.share(), 2.5);
    g.write("cpu.max", "max 100000\n");
    EXPECT_TRUE(std::isinf(g.share()));
}

TEST(cpu_quota, of_half_a_processor_lets_no_worker_spin) {
    const groups g;
    g.list("0::/\n");
    g.write("cpu.max", "50000 100000\n");
    EXPECT_FALSE(coflux::detail::spin_budget::may_look(g.quota(), 1));
    g.write("cpu.max", "150000 100000\n");
    EXPECT_FALSE(coflux::detail::spin_budget::may_look(g.quota(), 1)) << "the second has half a processor";
    g.write("cpu.max", "200000 100000\n");
    EXPECT_TRUE(coflux::detail::spin_budget::may_look(g.quota(), 1));
}

TEST(cpu_quota, is_the_narrowest_of_a_group_and_those_above_it) {
    const groups g;
    g.list("0::/slice/service/part\n");
    g.write("slice/cpu.max", "300000 100000\n");
    g.write("slice/service/cpu.max", "800000 100000\n");
    g.write("slice/service/part/cpu.max", "max 100000\n");
    EXPECT_EQ(g.quota(), 3U);
}

TEST(cpu_quota, is_none_where_there_is_no_limit_and_no_file) {
    const groups g;
    EXPECT_EQ(g.quota(), 64U);
    g.list("0::/service\n");
    EXPECT_EQ(g.quota(), 64U);
    g.write("service/cpu.max", "max 100000\n");
    EXPECT_EQ(g.quota(), 64U);
    for (const char* const text : {"", "much", "100000", "-1 100000", "100000 0"}) {
        g.write("service/cpu.max", text);
        EXPECT_EQ(g.quota(), 64U) << text;
    }
}

TEST(cpu_quota, is_that_of_the_cpu_controller_in_version_1) {
    const groups g;
    g.list("4:memory:/jobs\n3:cpuacct,cpu:/jobs/one\n2:cpuset:/jobs\nno group\n");
    g.write("cpu/jobs/one/cpu.cfs_period_us", "100000\n");
    g.write("cpu/jobs/one/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(g.quota(), 64U);
    g.write("cpu/jobs/one/cpu.cfs_quota_us", "400000\n");
    EXPECT_EQ(g.quota(), 4U);
}

// A container sees its own group at the top of the mount, and may be listed below a path that is not there.
TEST(cpu_quota, is_that_of_the_mount_where_the_path_of_the_group_is_outside) {
    const groups g;
    g.list("0::/../../machine/container\n");
    g.write("cpu.max", "200000 100000\n");
    EXPECT_EQ(g.quota(), 2U);
}

}  // namespace
