// Both forms of a worker's pop give the same pool.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <system_error>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

namespace {

using coflux::pop_order;
using pool = coflux::thread_pool_executor;

coflux::fork<std::uint64_t, pool> fib(coflux::environment&, unsigned n) {
    if (n < 2) co_return n;
    auto&& here = co_await coflux::context();
    auto a = fib(here, n - 1);
    auto b = fib(here, n - 2);
    const std::uint64_t y = co_await std::move(b);
    co_return co_await std::move(a) + y;
}
coflux::task<std::uint64_t, pool> root(coflux::environment&, unsigned n) {
    auto&& here = co_await coflux::context();
    co_return co_await fib(here, n);
}

class thread_pool_pops : public testing::TestWithParam<pop_order> {};
INSTANTIATE_TEST_SUITE_P(ordered, thread_pool_pops,
                         testing::Values(pop_order::automatic, pop_order::by_thief, pop_order::by_owner),
                         [](const auto& info) {
                             return info.param == pop_order::automatic  ? "automatic"
                                    : info.param == pop_order::by_thief ? "by_thief"
                                                                        : "by_owner";
                         });

TEST_P(thread_pool_pops, give_each_fork_to_one_worker) {
    for (const std::size_t threads : {1U, 2U, 3U}) {
        try {
            pool p({.threads = threads, .pops = GetParam()});
            auto env = coflux::make_environment(p);
            for (int i = coflux_test::at_full_speed ? 8 : 1; i != 0; --i) EXPECT_EQ(root(env, 18).get(), 2584U);
        } catch (const std::system_error& e) {
            ASSERT_EQ(GetParam(), pop_order::by_thief);
            GTEST_SKIP() << e.what();
        }
    }
}

}  // namespace
