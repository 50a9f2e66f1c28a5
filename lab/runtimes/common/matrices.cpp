#include "matrices.hpp"

#include <bit>

namespace harness {
namespace {

std::uint32_t checked(std::uint64_t n) {
    if (n < 32 || n > 1 << 15 || !std::has_single_bit(n)) {
        throw usage_error{"n of matmul is a power of two from 32 to 32768"};
    }
    return static_cast<std::uint32_t>(n);
}

}  // namespace

std::array<std::array<block_product, 4>, 2> block_product::rounds() const noexcept {
    const std::uint32_t half = size / 2;
    const auto round = [&](std::uint32_t from) {
        const auto quadrant = [&](std::uint32_t down, std::uint32_t right) {
            return block_product{.row = row + down, .column = column + right, .inner = from, .size = half};
        };
        return std::array{quadrant(0, 0), quadrant(0, half), quadrant(half, 0), quadrant(half, half)};
    };
    return {round(inner), round(inner + half)};
}

matrices::matrices(std::uint64_t n)
    : n_{checked(n)},
      a_(std::size_t{n_} * n_),
      b_(std::size_t{n_} * n_),
      c_(std::size_t{n_} * n_) {
    for (std::uint32_t row = 0, place = 0; row < n_; ++row) {
        for (std::uint32_t column = 0; column < n_; ++column, ++place) {
            a_[place] = row + column;
            b_[place] = row - column;
        }
    }
}

void matrices::multiply(block_product p) noexcept {
    const std::size_t n = n_;
    const std::uint32_t* const a = a_.data() + p.row * n + p.inner;
    const std::uint32_t* const b = b_.data() + p.inner * n + p.column;
    std::uint32_t* const c = c_.data() + p.row * n + p.column;
    for (std::size_t i = 0; i < p.size; ++i) {
        for (std::size_t k = 0; k < p.size; ++k) {
            const std::uint32_t factor = a[i * n + k];
            for (std::size_t j = 0; j < p.size; ++j) {
                c[i * n + j] += factor * b[k * n + j];
            }
        }
    }
}

// The sum of (i + k)(k - j) over k, by the sums of k and of its squares.
std::uint64_t matrices::right() const noexcept {
    const std::uint64_t n = n_;
    const auto sum = static_cast<std::uint32_t>(n * (n - 1) / 2);
    const auto squares = static_cast<std::uint32_t>((n - 1) * n * (2 * n - 1) / 6);
    std::uint64_t count = 0;
    for (std::uint32_t row = 0, place = 0; row < n_; ++row) {
        for (std::uint32_t column = 0; column < n_; ++column, ++place) {
            count += c_[place] == squares + (row - column) * sum - n_ * row * column ? 1 : 0;
        }
    }
    return count;
}

}  // namespace harness
