// The laws of executors and of sleeps, on a shard.
#include <coflux/executor/shard_group.hpp>

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/conformance/executor_suite.hpp>
#include <coflux/testing/conformance/timers_suite.hpp>

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_shards {

/// The last shard of a group of its own.
template <std::size_t Shards, coflux::message_fence Fence>
struct in_a_group {
    std::unique_ptr<coflux::shard_group> group =
        std::make_unique<coflux::shard_group>(coflux::shard_options{.shards = Shards, .fence = Fence});
    coflux::shard& executor() noexcept { return (*group)[Shards - 1]; }
};
template <std::size_t Shards, coflux::message_fence Fence = coflux::message_fence::automatic>
struct shard_of {
    in_a_group<Shards, Fence> operator()() const { return {}; }
};

}  // namespace conformance_of_shards

namespace coflux::testing {

using namespace conformance_of_shards;
using our_shards = ::testing::Types<shard_of<1>, shard_of<3>, shard_of<2, message_fence::by_sender>>;
INSTANTIATE_TYPED_TEST_SUITE_P(shards, executor_conformance, our_shards);
INSTANTIATE_TYPED_TEST_SUITE_P(shards, timer_conformance, our_shards);

}  // namespace coflux::testing
