// A tree whose shape shows only as it is walked.
#include "uts.hpp"
#include "workloads.hpp"

#include <cstdint>

namespace lab {
namespace {

// The results are on the worker's stack, which is what co_new is for.
constexpr auto nodes_below = [](auto nodes_below, const harness::uts_tree* tree,
                                harness::uts_node node) -> lf::task<std::uint64_t> {
    const std::uint32_t children = tree->children_of(node);
    std::uint64_t nodes = 1;
    if (children != 0) {
        auto [results] = co_await lf::co_new<std::uint64_t>(children);
        for (std::uint32_t c = 0; c + 1 < children; ++c) {
            co_await lf::fork[&results[c], nodes_below](tree, harness::uts_tree::child_of(node, c));
        }
        co_await lf::call[&results[children - 1], nodes_below](tree, harness::uts_tree::child_of(node, children - 1));
        co_await lf::join;
        for (const std::uint64_t result : results) {
            nodes += result;
        }
    }
    co_return nodes;
};

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    workers pool{r.threads()};
    return measure_on(pool, r, nodes_below, &tree, tree.root());
}

}  // namespace lab
