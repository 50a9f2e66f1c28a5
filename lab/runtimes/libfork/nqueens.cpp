// A tree whose nodes have as many children as their boards have safe rows.
#include "board.hpp"
#include "workloads.hpp"

#include <array>
#include <cstddef>

namespace lab {
namespace {

// The ways to complete a board.
constexpr auto completions = []<std::size_t N>(auto completions, harness::board<N> board) -> lf::task<std::uint64_t> {
    if (board.full()) {
        co_return 1;
    }
    std::array<std::uint64_t, N> results;
    std::size_t children = 0;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            co_await lf::fork[&results[children], completions](board.with(row));
            ++children;
        }
    }
    co_await lf::join;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < children; ++i) {
        sum += results[i];
    }
    co_return sum;
};

}  // namespace

harness::measured nqueens(const harness::request& r) {
    workers pool{r.threads()};
    return harness::with_empty_board(r.integer("n"),
                                     [&](auto empty) { return measure_on(pool, r, completions, empty); });
}

}  // namespace lab
