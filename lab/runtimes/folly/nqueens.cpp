// A tree whose nodes have as many children as their boards have safe rows.
#include "adapter.hpp"
#include "board.hpp"
#include "definitions.hpp"
#include "inplace_vector.hpp"
#include "workloads.hpp"

#include <cstddef>
#include <iterator>
#include <ranges>

namespace lab {
namespace {

// The range of the children as values: a join takes those of a std::vector so by itself.
auto moved(auto& children) {
    return std::ranges::subrange{std::make_move_iterator(children.begin()), std::make_move_iterator(children.end())};
}

// The ways to complete a board.
template <std::size_t N>
task<std::uint64_t> completions(pool& threads, harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    harness::inplace_vector<forked<std::uint64_t>, N> children;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            children.push_back(fork_to(threads, completions(threads, board.with(row))));
        }
    }
    co_return sum_of_all(co_await coro::collectAllRange(moved(children)));
}

template <std::size_t N>
task<std::uint64_t> lean_completions(pool& threads, harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    // The join must know how many there are before the first begins.
    harness::inplace_vector<int, N> safe;
    for (int row = board.size - 1; row >= 0; --row) {
        if (board.safe(row)) {
            safe.push_back(int{row});
        }
    }
    if (safe.empty()) {
        co_return 0;
    }
    sum_of_children children{safe.size()};
    for (; !safe.empty(); safe.pop_back()) {
        children.start(fork_to(threads, lean_completions(threads, board.with(safe.back()))));
    }
    co_await children.ended();
    co_return children.sum();
}

template <typename Completions>
task<std::uint64_t> time_nqueens(Completions completions, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t answer = co_await completions();
    watch.stop();
    co_return answer;
}

// `search(threads, board)` is the root.
template <typename Search>
harness::measured measure_nqueens(const harness::request& r, Search search) {
    const std::uint64_t n = r.integer("n");
    return harness::with_empty_board(n, [&](auto empty) {
        require_queue_memory(harness::nqueens_tasks(n));
        pool threads{r.threads()};
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return run(threads, time_nqueens([&] { return search(threads, empty); }, watch));
        });
    });
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    return measure_nqueens(r, [](pool& threads, auto board) { return completions(threads, board); });
}

harness::measured nqueens_expert(const harness::request& r) {
    return measure_nqueens(r, [](pool& threads, auto board) { return lean_completions(threads, board); });
}

}  // namespace lab
