// The board of nqueens. Every child gets a copy, so it is no larger than it must be: 16 bytes.
#pragma once

#include "harness.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace harness {

// Queens on the first columns, one each, of which no two are in a row or on a diagonal.
class board {
public:
    static constexpr std::size_t largest = 14;

    // Empty, with n columns and rows. Throws usage_error where they are too many.
    explicit board(std::uint64_t n) : size_{static_cast<char>(n)} {
        if (n > largest) {
            throw usage_error{"the boards of nqueens have at most 14 columns"};
        }
    }

    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] bool full() const noexcept { return queens_ == size_; }

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
    std::array<char, largest> rows_{};
    char queens_ = 0;
    char size_;
};

}  // namespace harness
