// A tree whose shape shows only as it is walked.
#include "uts.hpp"
#include "workloads.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>
#include <tbb/task_group.h>

#include <functional>
#include <vector>

namespace lab {
namespace {

std::uint64_t nodes_below(const harness::uts_tree& tree, const harness::uts_node& node) {
    const std::uint32_t children = tree.children_of(node);
    if (children == 0) {
        return 1;
    }
    std::vector<std::uint64_t> results(children);
    tbb::task_group group;
    for (std::uint32_t c = 1; c < children; ++c) {
        group.run([&tree, &result = results[c], child = harness::uts_tree::child_of(node, c)] {
            result = nodes_below(tree, child);
        });
    }
    // One child runs in place: its parent would only wait.
    group.run_and_wait([&tree, &result = results[0], child = harness::uts_tree::child_of(node, 0)] {
        result = nodes_below(tree, child);
    });
    std::uint64_t nodes = 1;
    for (const std::uint64_t result : results) {
        nodes += result;
    }
    return nodes;
}

// The same by a range of children that is split down to one: no results to keep, and half of a node's children may be
// taken at once.
std::uint64_t nodes_by_halves(const harness::uts_tree& tree, const harness::uts_node& node) {
    using range = tbb::blocked_range<std::uint32_t>;
    return 1 + tbb::parallel_reduce(
                   range{0, tree.children_of(node), 1}, std::uint64_t{0},
                   [&tree, &node](const range& one, std::uint64_t sum) {
                       return sum + nodes_by_halves(tree, harness::uts_tree::child_of(node, one.begin()));
                   },
                   std::plus<>{}, tbb::simple_partitioner{});
}

using walk = std::uint64_t (*)(const harness::uts_tree&, const harness::uts_node&);

harness::measured measure_unbalanced(const harness::request& r, walk below) {
    const harness::uts_tree tree{r};
    workers pool{r.threads()};
    return harness::measure(r, [&] { return pool.run([&tree, below] { return below(tree, tree.root()); }); });
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    return measure_unbalanced(r, nodes_below);
}

harness::measured unbalanced_expert(const harness::request& r) {
    return measure_unbalanced(r, nodes_by_halves);
}

}  // namespace lab
