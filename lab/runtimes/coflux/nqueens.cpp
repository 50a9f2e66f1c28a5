// A tree whose nodes have as many children as their boards have safe rows.
// Idioms: docs/tour/01-first-program.md
#include "board.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

/// The ways to complete a board.
template <std::size_t N>
forked completions(coflux::environment&, harness::board<N> board) {
    if (board.full()) {
        co_return 1;
    }
    auto&& here = co_await coflux::context();
    std::vector<forked> children;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            children.push_back(completions(here, board.with(row)));
        }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t found : co_await coflux::when_all(std::move(children))) {
        sum += found;
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
