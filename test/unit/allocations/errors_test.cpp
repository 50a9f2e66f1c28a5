// Errors that come along with other errors are counted by references and not copied: measured in bytes.
#include <cstddef>
#include <stdexcept>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

namespace {

using noop = coflux::noop_executor;

coflux::fork<void, noop> fails(coflux::environment&) {
    co_await coflux::this_coroutine::executor();
    throw std::runtime_error("beside");
}
coflux::call<void> fails_at_each_level(coflux::environment&, int levels) {
    auto&& here = co_await coflux::context();
    fails(here).attach();
    if (levels == 0) throw std::runtime_error("bottom");
    co_await fails_at_each_level(here, levels - 1);
}

coflux::task<void, noop> fails_deep(coflux::environment&, int levels) {
    auto&& here = co_await coflux::context();
    co_await fails_at_each_level(here, levels);
}

/// The bytes that operator new gives while an error comes through so many scopes, each of which adds one.
std::size_t bytes_for(int levels) {
    auto env = coflux::make_environment();
    const auto& bytes = coflux::testing::detail::new_bytes;
    const std::size_t before = bytes.load(coflux::detail::memory_order_relaxed);
    EXPECT_THROW(fails_deep(env, levels).get(), std::runtime_error);
    return bytes.load(coflux::detail::memory_order_relaxed) - before;
}

TEST(allocations_of_errors, grow_with_the_scopes_and_not_with_their_square) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    (void)bytes_for(8'000);  // the pool has its frames from now on
    const std::size_t less = bytes_for(2'000);
    const std::size_t more = bytes_for(8'000);
    EXPECT_GT(less, 0U);
    EXPECT_LE(more, 5 * less);
}

}  // namespace
