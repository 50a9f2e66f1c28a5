#include <coflux/executor/thread_pool.hpp>

#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

namespace {

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

/// Exits with 0 if a pool of a thousand threads throws and leaves a process that can have a pool of one.
[[noreturn]] void has_no_room_for_stacks() {
    limit_addresses_to(64 * megabyte);  // a stack takes eight
    try {
        coflux::thread_pool_executor pool(1000);
        std::exit(1);
    } catch (const std::system_error&) {}
    coflux::thread_pool_executor pool(1);
    auto env = coflux::make_environment(pool);
    auto t = [](coflux::environment&) -> coflux::task<int, coflux::thread_pool_executor> { co_return 7; }(env);
    std::exit(t.get() == 7 ? 0 : 2);
}

TEST(thread_pool_failure, of_a_thread_ends_those_that_began_and_is_thrown) {
    if (coflux_test::sanitized) GTEST_SKIP() << "a sanitizer needs the addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(has_no_room_for_stacks(), testing::ExitedWithCode(0), "");
}

}  // namespace
