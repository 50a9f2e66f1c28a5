// Experts of fork and join: children that are calls, and forks that are awaited by hand from the youngest on. That one
// is what the worker's queue gives back first, so it runs nested in its parent's await.
#include "board.hpp"
#include "definitions.hpp"
#include "inplace_vector.hpp"
#include "loads.hpp"
#include "sub_tasks.hpp"
#include "uts.hpp"
#include "workloads.hpp"

#include <array>
#include <cstddef>

namespace lab {
namespace {

forked trivial(coflux::environment&, std::uint64_t i) {
    co_return i;
}

// A child that is part of its caller: no other worker can take it.
coflux::call<std::uint64_t> trivial_in_place(coflux::environment&, std::uint64_t i) {
    co_return i;
}

forked in_place(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await trivial_in_place(here, i);
    }
    co_return sum;
}

forked burst(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(forks);
    for (std::uint64_t i = 0; i < forks; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    for (; !all.empty(); all.pop_back()) {
        sum += co_await std::move(all.back());
    }
    co_return sum;
}

coflux::task<std::uint64_t, pool> time_burst(coflux::environment&, std::uint64_t count, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(count);
    watch->start();
    for (std::uint64_t i = 0; i < count; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    for (; !all.empty(); all.pop_back()) {
        sum += co_await std::move(all.back());
    }
    watch->stop();
    co_return sum;
}

// A stage that is part of its caller: no other worker can take it.
coflux::call<std::uint64_t> stage_in_place(coflux::environment&, std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    auto&& here = co_await coflux::context();
    co_return 1 + co_await stage_in_place(here, depth - 1);
}

forked chains_in_place(coflux::environment&, std::uint64_t depth, std::uint64_t items) {
    auto&& here = co_await coflux::context();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage_in_place(here, depth);
    }
    co_return total;
}

coflux::call<std::uint64_t> node_call(coflux::environment& env, std::uint64_t first, std::uint64_t leaves);

forked node(coflux::environment&, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    auto&& here = co_await coflux::context();
    co_return co_await node_call(here, first, leaves);
}

/// Nine forks and a call.
coflux::call<std::uint64_t> node_call(coflux::environment&, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    auto&& here = co_await coflux::context();
    const std::uint64_t share = leaves / 10;
    const auto part = [&](std::uint64_t i) { return node(here, first + i * share, share); };
    std::array parts{part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7), part(8)};
    std::uint64_t sum = co_await node_call(here, first + 9 * share, share);
    for (std::size_t i = parts.size(); i-- != 0;) {
        sum += co_await std::move(parts[i]);
    }
    co_return sum;
}

template <std::size_t N>
forked completions(coflux::environment&, harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    auto&& here = co_await coflux::context();
    harness::inplace_vector<forked, N> children;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            children.push_back(completions(here, board.with(row)));
        }
    }
    std::uint64_t sum = 0;
    for (; !children.empty(); children.pop_back()) {
        sum += co_await std::move(children.back());
    }
    co_return sum;
}

forked nodes_below(coflux::environment&, harness::uts_tree tree, harness::uts_node of) {
    const std::uint32_t children = tree.children_of(of);
    std::uint64_t nodes = 1;
    if (children == 0) {
        co_return nodes;
    }
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(children);
    for (std::uint32_t c = 0; c < children; ++c) {
        all.push_back(nodes_below(here, tree, harness::uts_tree::child_of(of, c)));
    }
    for (; !all.empty(); all.pop_back()) {
        nodes += co_await std::move(all.back());
    }
    co_return nodes;
}

/// The time of one fork, which `make` makes.
coflux::task<std::uint64_t, pool> time_one(coflux::environment&, auto make, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    const std::uint64_t answer = co_await make(here);
    watch->stop();
    co_return answer;
}

template <typename Make>
harness::measured measure_one(const harness::request& r, Make make) {
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return time_one(env, make, coflux::borrowed(watch)).get(); });
}

}  // namespace

harness::measured fork_pool_expert(const harness::request& r) {
    const auto body = r.choice("mode", {"immediate", "final"}) == "immediate" ? in_place : burst;
    const std::uint64_t forks = r.integer("count") / r.threads();
    return measure_tasks(r, r.threads(), [=](auto& here) { return body(here, forks); });
}

harness::measured pipeline_expert(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    return measure_tasks(r, r.integer("concurrency"),
                         [depth, items](auto& here) { return chains_in_place(here, depth, items); });
}

harness::measured spawn_join_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return time_burst(env, count, coflux::borrowed(watch)).get(); });
}

harness::measured memory_after_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return time_burst(env, count, coflux::borrowed(watch)).get(); });
}

harness::measured skynet_expert(const harness::request& r) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    return measure_one(r, [=](auto& here) { return node(here, 0, leaves); });
}

harness::measured nqueens_expert(const harness::request& r) {
    return harness::with_empty_board(r.integer("n"), [&](auto empty) {
        return measure_one(r, [=](auto& here) { return completions(here, empty); });
    });
}

harness::measured unbalanced_expert(const harness::request& r) {
    const harness::uts_tree tree{r};
    return measure_one(r, [=](auto& here) { return nodes_below(here, tree, tree.root()); });
}

}  // namespace lab
