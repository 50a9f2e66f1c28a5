// A tree whose nodes have as many children as their boards have safe rows.
#include "adapter.hpp"
#include "board.hpp"
#include "definitions.hpp"
#include "inplace_vector.hpp"
#include "workloads.hpp"

#include <cstddef>

namespace lab {
namespace {

// The ways to complete a board.
template <std::size_t N>
awaitable<std::uint64_t> completions(harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    const pool_executor pool = co_await asio::this_coro::executor;
    // The join must know how many there are before the first begins: a vector of them, as the others have one of their
    // children.
    harness::inplace_vector<int, N> safe;
    for (int row = board.size - 1; row >= 0; --row) {
        if (board.safe(row)) {
            safe.push_back(int{row});
        }
    }
    sum_of_children children{safe.size()};
    for (; !safe.empty(); safe.pop_back()) {
        asio::co_spawn(pool, completions(board.with(safe.back())), children.delivery());
    }
    co_return co_await children.wait();
}

template <std::size_t N>
awaitable<std::uint64_t> time_nqueens(harness::board<N> empty, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t answer = co_await completions(empty);
    watch.stop();
    co_return answer;
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return harness::with_empty_board(n, [&](auto empty) {
        // As in skynet nearly the whole tree is held at once. Measured: 400 to 850 bytes a board.
        harness::require_memory(harness::nqueens_tasks(n) * 850, "the tree in Asio's queue");
        asio::thread_pool pool{r.threads()};
        return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_nqueens(empty, watch)); });
    });
}

}  // namespace lab
