// A tree whose shape shows only as it is walked.
#include "uts.hpp"
#include "workloads.hpp"

#include <tmc/spawn_many.hpp>

#include <vector>

namespace lab {
namespace {

tmc::task<std::uint64_t> nodes_below(const harness::uts_tree& tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    std::uint64_t nodes = 1;
    if (children != 0) {
        const auto child = [&tree, &node](std::uint64_t c) {
            return nodes_below(tree, harness::uts_tree::child_of(node, static_cast<std::uint32_t>(c)));
        };
        const std::vector<std::uint64_t> results = co_await tmc::spawn_many(tasks_of(child).begin(), children);
        for (const std::uint64_t result : results) {
            nodes += result;
        }
    }
    co_return nodes;
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    workers pool{r.threads()};
    return measure_on(pool, r, [&tree] { return nodes_below(tree, tree.root()); });
}

}  // namespace lab
