// A tree whose shape shows only as it is walked.
#include "adapter.hpp"
#include "uts.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

awaitable<std::uint64_t> nodes_below(pool_executor pool, harness::uts_tree tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        co_return 1;
    }
    sum_of_children all{children};
    for (std::uint32_t c = 0; c < children; ++c) {
        asio::co_spawn(pool, nodes_below(pool, tree, harness::uts_tree::child_of(node, c)), all.delivery());
    }
    co_return 1 + co_await all.wait();
}

awaitable<std::uint64_t> time_unbalanced(harness::uts_tree tree, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t nodes = co_await nodes_below(pool, tree, tree.root());
    watch.stop();
    co_return nodes;
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    // As in skynet much of the tree may be held at once.
    harness::require_memory(tree.nodes() * 700, "the tree in Asio's queue");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_unbalanced(tree, watch)); });
}

}  // namespace lab
