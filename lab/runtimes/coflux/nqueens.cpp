// A tree whose nodes have as many children as their boards have safe rows.
#include "board.hpp"
#include "inplace_vector.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstddef>
#include <utility>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

/// The ways to complete a board. The forks are awaited from the youngest on, as the worker's queue gives them back.
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

template <std::size_t N>
coflux::task<std::uint64_t, pool> time_nqueens(auto&&, harness::board<N> empty, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    const std::uint64_t answer = co_await completions(here, empty);
    watch->stop();
    co_return answer;
}

}  // namespace

harness::measured nqueens(const harness::request& r) {
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::with_empty_board(r.integer("n"), [&](auto empty) {
        return harness::measure(
            r, [&](harness::stopwatch& watch) { return time_nqueens(env, empty, coflux::borrowed(watch)).get(); });
    });
}

}  // namespace lab
