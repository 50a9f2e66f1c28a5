#include "matrices.hpp"

#include <algorithm>
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
      a_(std::size_t{n_} * n_, 1),
      b_(std::size_t{n_} * n_, 1),
      c_(std::size_t{n_} * n_, 0) {}

void matrices::multiply(block_product p) noexcept {
    const std::size_t n = n_;
    const int* const a = a_.data() + p.row * n + p.inner;
    const int* const b = b_.data() + p.inner * n + p.column;
    int* const c = c_.data() + p.row * n + p.column;
    for (std::size_t i = 0; i < p.size; ++i) {
        for (std::size_t k = 0; k < p.size; ++k) {
            const int factor = a[i * n + k];
            for (std::size_t j = 0; j < p.size; ++j) {
                c[i * n + j] += factor * b[k * n + j];
            }
        }
    }
}

std::uint64_t matrices::right() const noexcept {
    return static_cast<std::uint64_t>(std::ranges::count(c_, static_cast<int>(n_)));
}

}  // namespace harness
