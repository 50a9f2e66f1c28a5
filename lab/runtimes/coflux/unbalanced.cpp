// A tree whose shape shows only as it is walked.
// Idioms: docs/tour/01-first-program.md
#include "uts.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;

forked nodes_below(coflux::environment&, harness::uts_tree tree, harness::uts_node node) {
    const std::uint32_t children = tree.children_of(node);
    std::uint64_t nodes = 1;
    if (children == 0) {
        co_return nodes;
    }
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(children);
    for (std::uint32_t c = 0; c < children; ++c) {
        all.push_back(nodes_below(here, tree, harness::uts_tree::child_of(node, c)));
    }
    for (const std::uint64_t below : co_await coflux::when_all(std::move(all))) {
        nodes += below;
    }
    co_return nodes;
}

coflux::task<std::uint64_t, pool> time_unbalanced(auto&&, harness::uts_tree tree,
                                                  coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    const std::uint64_t nodes = co_await nodes_below(here, tree, tree.root());
    watch->stop();
    co_return nodes;
}

}  // namespace

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return time_unbalanced(env, tree, coflux::borrowed(watch)).get(); });
}

}  // namespace lab
