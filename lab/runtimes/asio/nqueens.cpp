// A tree whose nodes have as many children as their boards have safe rows.
#include "adapter.hpp"
#include "board.hpp"
#include "definitions.hpp"
#include "inplace_vector.hpp"
#include "workloads.hpp"

#include <cstddef>

namespace lab {
namespace {

// The join must know how many children there are before the first begins: a vector of their rows, as the others have
// one of their children.
template <std::size_t N>
void collect_safe_rows(const harness::board<N>& board, harness::inplace_vector<int, N>& safe) {
    for (int row = board.size - 1; row >= 0; --row) {
        if (board.safe(row)) {
            safe.push_back(int{row});
        }
    }
}

// The ways to complete a board.
template <std::size_t N>
awaitable<std::uint64_t> completions(harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    const pool_executor pool = co_await asio::this_coro::executor;
    harness::inplace_vector<int, N> safe;
    collect_safe_rows(board, safe);
    sum_of_children children{safe.size()};
    for (; !safe.empty(); safe.pop_back()) {
        asio::co_spawn(pool, completions(board.with(safe.back())), children.delivery());
    }
    co_return co_await children.wait();
}

// The last child in its parent's place, which would only wait.
template <typename Executor, std::size_t N>
counted<Executor> lean_completions(harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    const Executor on = co_await asio::this_coro::executor;
    harness::inplace_vector<int, N> safe;
    collect_safe_rows(board, safe);
    if (safe.empty()) {
        co_return 0;
    }
    sum_of_children_on<Executor> others{safe.size() - 1};
    for (; safe.size() > 1; safe.pop_back()) {
        asio::co_spawn(on, lean_completions<Executor>(board.with(safe.back())), others.delivery());
    }
    const std::uint64_t last = co_await lean_completions<Executor>(board.with(safe.back()));
    co_return last + co_await others.wait();
}

template <typename Executor, typename Search>
counted<Executor> time_nqueens(Search search, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t answer = co_await search();
    watch.stop();
    co_return answer;
}

// search(empty) counts the ways to complete an empty board.
template <typename Executor, typename Search>
harness::measured measure_nqueens(const harness::request& r, Search search) {
    const std::uint64_t n = r.integer("n");
    return harness::with_empty_board(n, [&](auto empty) {
        // As in skynet nearly the whole tree is held at once. Measured: 400 to 850 bytes a board.
        harness::require_memory(harness::nqueens_tasks(n) * 850, "the tree in Asio's queue");
        return measure_on<Executor>(
            r, [&](harness::stopwatch& watch) { return time_nqueens<Executor>([&] { return search(empty); }, watch); });
    });
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    return measure_nqueens<pool_executor>(r, [](auto empty) { return completions(empty); });
}

harness::measured nqueens_expert(const harness::request& r) {
    return measure_nqueens<pool_executor>(r, [](auto empty) { return lean_completions<pool_executor>(empty); });
}

harness::measured nqueens_on_one_thread(const harness::request& r) {
    return measure_nqueens<loop_executor>(r, [](auto empty) { return lean_completions<loop_executor>(empty); });
}

}  // namespace lab
