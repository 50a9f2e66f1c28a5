// The ladder of set-ups of an io_uring: what a kernel does not know, and what the environment asks for. Each in a
// process of its own, because a process chooses once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include <linux/io_uring.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

constexpr std::uint32_t deferred = IORING_SETUP_DEFER_TASKRUN;
constexpr std::uint32_t cooperative = IORING_SETUP_COOP_TASKRUN;

coflux::task<bool, coflux::worker_executor> echoes_one(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    std::byte one{};
    for (int i = 0; i < 3; ++i) {
        co_await p.far.write_all("x");
        co_await p.near.read_exactly(std::span(&one, 1));
    }
    co_return one == std::byte{'x'};
}

/// Takes the flags that the kernel does not know, and COFLUX_IO_RING, or nullptr; ends with 7 where the ring of a
/// worker is set up with `expected` of the two flags, says so, and works.
[[noreturn]] void has_set_up(std::uint32_t unknown, const char* asked, std::uint32_t expected, std::string_view name) {
    setenv("COFLUX_IO", "uring", 1);
    unsetenv("COFLUX_IO_RING");
    if (asked != nullptr) setenv("COFLUX_IO_RING", asked, 1);
    coflux_test::refuse_set_ups(unknown);
    const auto& used = coflux::io_backend_in_use();
    const bool says_so = used.backend == coflux::io_backend::uring && used.flags == name;
    const bool works = coflux_test::on_a_worker(echoes_one);
    std::_Exit(says_so && works && (coflux_test::last_set_up() & (deferred | cooperative)) == expected ? 7 : 1);
}

class ring_set_up_death : public testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (!coflux_test::system_rules::are_on_a_ring()) GTEST_SKIP() << "the tests have no ring here";
    }
};

TEST_F(ring_set_up_death, is_the_newest_where_the_kernel_knows_it) {
    EXPECT_EXIT(has_set_up(0, nullptr, deferred, "SINGLE_ISSUER|DEFER_TASKRUN"), testing::ExitedWithCode(7), "");
}
TEST_F(ring_set_up_death, is_the_next_one_where_the_kernel_does_not_know_the_newest) {
    EXPECT_EXIT(has_set_up(deferred, nullptr, cooperative, "COOP_TASKRUN"), testing::ExitedWithCode(7), "");
}
TEST_F(ring_set_up_death, is_the_oldest_where_the_kernel_knows_no_other) {
    EXPECT_EXIT(has_set_up(deferred | cooperative, nullptr, 0, "none"), testing::ExitedWithCode(7), "");
}
TEST_F(ring_set_up_death, is_what_the_environment_begins_with) {
    EXPECT_EXIT(has_set_up(0, "cooperative", cooperative, "COOP_TASKRUN"), testing::ExitedWithCode(7), "");
    EXPECT_EXIT(has_set_up(0, "plain", 0, "none"), testing::ExitedWithCode(7), "");
    EXPECT_EXIT(has_set_up(cooperative, "cooperative", 0, "none"), testing::ExitedWithCode(7), "");
}

}  // namespace
