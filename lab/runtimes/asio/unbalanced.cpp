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
template <typename Executor>
counted<Executor> lean_nodes_below(Executor on, harness::uts_tree tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        co_return 1;
    }
    sum_of_children_on<Executor> others{children - 1};
    for (std::uint32_t c = 0; c + 1 < children; ++c) {
        asio::co_spawn(on, lean_nodes_below(on, tree, harness::uts_tree::child_of(node, c)), others.delivery());
    }
    const std::uint64_t last = co_await lean_nodes_below(on, tree, harness::uts_tree::child_of(node, children - 1));
    co_return 1 + last + co_await others.wait();
}

template <typename Executor>
using walk = counted<Executor> (*)(Executor on, harness::uts_tree tree, harness::uts_node node);

template <typename Executor>
counted<Executor> time_unbalanced(walk<Executor> below, harness::uts_tree tree, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t nodes = co_await below(on, tree, tree.root());
    watch.stop();
    co_return nodes;
}

template <typename Executor>
harness::measured measure_unbalanced(const harness::request& r, walk<Executor> below) {
    const harness::uts_tree tree{r};
    // As in skynet much of the tree may be held at once.
    harness::require_memory(tree.nodes() * 700, "the tree in Asio's queue");
    return measure_on<Executor>(
        r, [=](harness::stopwatch& watch) { return time_unbalanced<Executor>(below, tree, watch); });
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    return measure_unbalanced<pool_executor>(r, nodes_below);
}

harness::measured unbalanced_expert(const harness::request& r) {
    return measure_unbalanced<pool_executor>(r, lean_nodes_below<pool_executor>);
}

harness::measured unbalanced_on_one_thread(const harness::request& r) {
    return measure_unbalanced<loop_executor>(r, lean_nodes_below<loop_executor>);
}

}  // namespace lab
