// A tree whose shape shows only as it is walked.
#include "uts.hpp"
#include "workloads.hpp"

#include <tbb/task_group.h>

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

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    workers pool{r.threads()};
    return harness::measure(r, [&] { return pool.run([&tree] { return nodes_below(tree, tree.root()); }); });
}

}  // namespace lab
