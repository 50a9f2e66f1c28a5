// A tree whose nodes have as many children as their boards have safe rows.
#include "board.hpp"
#include "workloads.hpp"

#include <tmc/spawn_many.hpp>

#include <array>
#include <cstddef>
#include <ranges>

namespace lab {
namespace {

// The ways to complete a board. With a number of children that is known to the compiler the results are in the node.
template <std::size_t N>
tmc::task<std::uint64_t> completions(harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    std::size_t children = 0;
    auto tasks = std::views::iota(0, board.size) | std::views::filter([&board](int row) { return board.safe(row); }) |
                 std::views::transform([&board, &children](int row) {
                     ++children;
                     return completions(board.with(row));
                 });
    const std::array<std::uint64_t, N> results = co_await tmc::spawn_many<N>(tasks.begin(), tasks.end());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < children; ++i) {
        sum += results[i];
    }
    co_return sum;
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    workers pool{r.threads()};
    return harness::with_empty_board(
        r.integer("n"), [&](auto empty) { return measure_on(pool, r, [empty] { return completions(empty); }); });
}

}  // namespace lab
