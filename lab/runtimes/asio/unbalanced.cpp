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

// The last child in its parent's place, which would only wait.
awaitable<std::uint64_t> lean_nodes_below(pool_executor pool, harness::uts_tree tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        co_return 1;
    }
    sum_of_children others{children - 1};
    for (std::uint32_t c = 0; c + 1 < children; ++c) {
        asio::co_spawn(pool, lean_nodes_below(pool, tree, harness::uts_tree::child_of(node, c)), others.delivery());
    }
    const std::uint64_t last = co_await lean_nodes_below(pool, tree, harness::uts_tree::child_of(node, children - 1));
    co_return 1 + last + co_await others.wait();
}

using walk = awaitable<std::uint64_t> (*)(pool_executor pool, harness::uts_tree tree, harness::uts_node node);

awaitable<std::uint64_t> time_unbalanced(walk below, harness::uts_tree tree, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t nodes = co_await below(pool, tree, tree.root());
    watch.stop();
    co_return nodes;
}

harness::measured measure_unbalanced(const harness::request& r, walk below) {
    const harness::uts_tree tree{r};
    // As in skynet much of the tree may be held at once.
    harness::require_memory(tree.nodes() * 700, "the tree in Asio's queue");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(pool, time_unbalanced(below, tree, watch)); });
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    return measure_unbalanced(r, nodes_below);
}

harness::measured unbalanced_expert(const harness::request& r) {
    return measure_unbalanced(r, lean_nodes_below);
}

}  // namespace lab
