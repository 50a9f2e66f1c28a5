// The matrices of matmul and the block products that its tasks are: the arithmetic and the split are the same code in
// every C++ adapter, so that these differ in how they fork and join.
#pragma once

#include "harness.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace harness {

// C += A B for one block of each: of A that with this row and `inner` as its column, of B that with `inner` as its row
// and this column, of C that with this row and column.
struct block_product {
    std::uint32_t row;
    std::uint32_t column;
    std::uint32_t inner;
    std::uint32_t size;

    [[nodiscard]] bool is_leaf() const noexcept { return size <= 32; }
    // The four of a round write different blocks of C; the second round writes those of the first again, so it begins
    // when that is done.
    [[nodiscard]] std::array<std::array<block_product, 4>, 2> rounds() const noexcept;
};

class matrices {
public:
    // n by n: A of i + k in row i and column k, B of k - j in row k and column j, C of zeroes; numbers are modulo 2^32.
    // No two blocks are alike, so another split than the right one gives another product. Throws usage_error where n is
    // no power of two from 32 to 32 768.
    explicit matrices(std::uint64_t n);

    [[nodiscard]] block_product whole() const noexcept { return {.row = 0, .column = 0, .inner = 0, .size = n_}; }
    void multiply(block_product p) noexcept;
    // How many elements of C are right, as all of them are in the end.
    [[nodiscard]] std::uint64_t right() const noexcept;

private:
    std::uint32_t n_;
    std::vector<std::uint32_t> a_;
    std::vector<std::uint32_t> b_;
    std::vector<std::uint32_t> c_;
};

}  // namespace harness
