// How a group of shards begins, and does not, and ends; and what a fork() of the process makes of it.
#include <coflux/executor/shard_group.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>
#include <support/no_hang.hpp>

namespace {

using coflux::shard;
using coflux::shard_group;

coflux::task<int, shard> seven_there(coflux::environment&, shard_group* shards) {
    co_return co_await shards->submit_to(1, [] { return 7; });
}

constexpr std::size_t megabyte = 1024 * 1024;

/// Lets the process have so many bytes of addresses more than it has.
void limit_addresses_to(std::size_t more) {
    std::size_t pages = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
    std::fclose(file);
    const rlimit limit{pages * 4096 + more, pages * 4096 + more};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

/// Exits with 0 if a group of a hundred shards throws and leaves a process that can have a group of two.
[[noreturn]] void has_no_room_for_stacks() {
    limit_addresses_to(128 * megabyte);  // a stack takes eight, the rings of a hundred shards 24
    try {
        shard_group shards(100);
        std::exit(1);
    } catch (const std::system_error&) {}
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    std::exit(seven_there(env, &shards).get() == 7 ? 0 : 2);
}

TEST(shard_group_failure, of_a_thread_ends_those_that_began_and_is_thrown) {
    if (coflux_test::sanitized) GTEST_SKIP() << "a sanitizer needs the addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(has_no_room_for_stacks(), testing::ExitedWithCode(0), "");
}

/// Death tests in the fast style are what the tests are about: a fork() of this process that goes on in the child.
class shard_group_process_death : public testing::Test {
    void SetUp() override {
#if COFLUX_TEST_TSAN
        GTEST_SKIP() << "ThreadSanitizer ends a child that makes threads";
#endif
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

coflux::task<int, coflux::noop_executor> seven_from_nowhere(coflux::environment&, shard_group* shards) {
    co_return co_await shards->submit_to(1, [] { return 7; });
}

TEST_F(shard_group_process_death, a_child_that_uses_the_shards_of_its_parent_is_refused) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0], coflux::noop_executor());
    EXPECT_EQ(seven_there(env, &shards).get(), 7);
    EXPECT_DEATH((void)seven_there(env, &shards).get(), "a shard that was made before fork\\(\\) is used in the child");
    EXPECT_DEATH((void)seven_from_nowhere(env, &shards).get(),
                 "a shard that was made before fork\\(\\) is used in the child");
    EXPECT_EQ(seven_there(env, &shards).get(), 7) << "the parent's are as they were";
}

/// The child is made while a shard is held in a function, and messages wait in its ring.
TEST_F(shard_group_process_death, a_child_may_destroy_the_group_make_its_own_and_end) {
    std::optional<shard_group> shards(std::in_place, 2U);
    std::optional<coflux::environment_of<shard&>> env(std::in_place, (*shards)[0]);
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    const auto asks = [](coflux::environment&, shard_group* all, std::atomic<bool>* b,
                         std::atomic<bool>* o) -> coflux::task<void, shard> {
        co_await all->submit_to(1, [b, o] {
            b->store(true);
            while (!o->load()) {}
        });
    };
    auto first = asks(*env, &*shards, &begun, &over);
    while (!begun.load()) {}
    auto second = asks(*env, &*shards, &begun, &over);
    EXPECT_EXIT(
        {
            shards.reset();
            shard_group own(2);
            auto of_child = coflux::make_environment(own[0]);
            const int value = seven_there(of_child, &own).get();
            std::_Exit(value);  // what the parent's threads hold is lost here
        },
        testing::ExitedWithCode(7), "");
    over.store(true);
    first.get();
    second.get();
}

coflux::task<void, shard> ends_its_own(coflux::environment&, std::optional<shard_group>* own) {
    own->reset();
    co_return;
}

TEST(shard_group_death, ends_on_one_of_its_own_threads) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            std::optional<shard_group> shards(std::in_place, 1U);
            auto env = coflux::make_environment((*shards)[0]);
            ends_its_own(env, &shards).get();
        },
        "a shard is destroyed on its own thread");
}

/// The function outlasts the thread to which its result goes.
coflux::task<void, shard> asks_beyond_its_thread(coflux::environment&, shard_group* shards, std::atomic<bool>* begun) {
    const long thread = syscall(SYS_gettid);
    co_await shards->submit_to(1, [begun, thread] {
        begun->store(true);
        while (syscall(SYS_tgkill, getpid(), thread, 0) == 0) std::this_thread::yield();
    });
}

TEST(shard_group_death, ends_with_something_submitted_on_its_way) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            std::optional<shard_group> shards(std::in_place, 2U);
            auto env = coflux::make_environment((*shards)[0]);
            std::atomic<bool> begun{false};
            auto t = asks_beyond_its_thread(env, &*shards, &begun);
            while (!begun.load()) {}
            shards.reset();
        },
        "a shard_group ends with something submitted on its way");
}

}  // namespace
