// A tree whose nodes have as many children as their boards have safe rows.
#include "board.hpp"
#include "workloads.hpp"

#include <tbb/task_group.h>

#include <array>
#include <cstddef>

namespace lab {
namespace {

// The ways to complete a board.
template <std::size_t N>
std::uint64_t completions(harness::board<N> board) {
    if (board.full()) {
        return 1;
    }
    std::array<std::uint64_t, N> results;
    std::size_t children = 0;
    int last = -1;
    tbb::task_group group;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            if (last >= 0) {
                group.run([&result = results[children++], next = board.with(last)] { result = completions(next); });
            }
            last = row;
        }
    }
    if (last < 0) {
        return 0;
    }
    // The last child runs in place: its parent would only wait.
    std::uint64_t sum = 0;
    group.run_and_wait([&sum, next = board.with(last)] { sum = completions(next); });
    for (std::size_t i = 0; i < children; ++i) {
        sum += results[i];
    }
    return sum;
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    workers pool{r.threads()};
    return harness::with_empty_board(r.integer("n"), [&](auto empty) {
        return harness::measure(r, [&] { return pool.run([empty] { return completions(empty); }); });
    });
}

}  // namespace lab
