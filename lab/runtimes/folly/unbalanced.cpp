// A tree whose shape shows only as it is walked.
#include "adapter.hpp"
#include "uts.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

task<std::uint64_t> nodes_below(pool& threads, const harness::uts_tree& tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        co_return 1;
    }
    std::vector<forked<std::uint64_t>> all;
    all.reserve(children);
    for (std::uint32_t c = 0; c < children; ++c) {
        all.push_back(fork_to(threads, nodes_below(threads, tree, harness::uts_tree::child_of(node, c))));
    }
    co_return 1 + sum_of_all(co_await coro::collectAllRange(std::move(all)));
}

task<std::uint64_t> lean_nodes_below(pool& threads, const harness::uts_tree& tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        co_return 1;
    }
    sum_of_children all{children};
    for (std::uint32_t c = 0; c < children; ++c) {
        all.start(fork_to(threads, lean_nodes_below(threads, tree, harness::uts_tree::child_of(node, c))));
    }
    co_await all.ended();
    co_return 1 + all.sum();
}

template <typename Walk>
task<std::uint64_t> time_unbalanced(pool& threads, Walk walk, const harness::uts_tree& tree,
                                    harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t nodes = co_await walk(threads, tree, tree.root());
    watch.stop();
    co_return nodes;
}

template <typename Walk>
harness::measured measure_unbalanced(const harness::request& r, Walk walk) {
    const harness::uts_tree tree{r};
    require_queue_memory(tree.nodes());
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, time_unbalanced(threads, walk, tree, watch)); });
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    return measure_unbalanced(r, nodes_below);
}

harness::measured unbalanced_expert(const harness::request& r) {
    return measure_unbalanced(r, lean_nodes_below);
}

}  // namespace lab
