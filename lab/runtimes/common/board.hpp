// The board of nqueens. Every child gets a copy, so it is no larger than it must be: 15 bytes for 14 columns. The size
// is a constant, as in the suite that the workload comes from.
#pragma once

#include "harness.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace harness {

// Queens on the first columns, one each, of which no two are in a row or on a diagonal.
template <std::size_t N>
class board {
public:
    // The number of columns, and of rows.
    static constexpr int size = static_cast<int>(N);

    [[nodiscard]] bool full() const noexcept { return queens_ == size; }

    // Whether no queen threatens this row of the next column.
    [[nodiscard]] bool safe(int row) const noexcept {
        for (int column = 0; column < queens_; ++column) {
            const int placed = rows_[static_cast<std::size_t>(column)];
            const int distance = queens_ - column;
            if (row == placed || row == placed - distance || row == placed + distance) {
                return false;
            }
        }
        return true;
    }

    // A copy with a queen in this row of the next column.
    [[nodiscard]] board with(int row) const noexcept {
        board next{*this};
        next.rows_[static_cast<std::size_t>(next.queens_++)] = static_cast<char>(row);
        return next;
    }

private:
    std::array<char, N> rows_{};
    char queens_ = 0;
};

// The result of `use` for the empty board of n columns, 1 to 14; throws usage_error for others.
template <std::size_t N = 1, typename Use>
measured with_empty_board(std::uint64_t n, const Use& use) {
    if constexpr (N <= 14) {
        return n == N ? use(board<N>{}) : with_empty_board<N + 1>(n, use);
    } else {
        throw usage_error{"the boards of nqueens have 1 to 14 columns"};
    }
}

}  // namespace harness
