// java.util.Random, by the definition in its documentation: the draws of Nexmark's generator are the same as with Java.
#pragma once

#include <bit>
#include <cstdint>

namespace lab::nexmark {

class java_random {
public:
    explicit constexpr java_random(std::int64_t seed) noexcept
        : state_{(static_cast<std::uint64_t>(seed) ^ multiplier) & mask} {}

    // Goes on where another one stood.
    static constexpr java_random at(std::uint64_t state) noexcept {
        java_random random{0};
        random.state_ = state;
        return random;
    }
    // 48 bits.
    [[nodiscard]] constexpr std::uint64_t state() const noexcept { return state_; }

    // All 2^32 values.
    constexpr std::int32_t next_int() noexcept {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(next(32)));
    }

    // From 0 to bound - 1; the bound is 1 at least.
    constexpr std::int32_t next_int(std::int32_t bound) noexcept {
        const auto n = static_cast<std::uint32_t>(bound);
        auto drawn = static_cast<std::uint32_t>(next(31));
        if (std::has_single_bit(n)) {
            return static_cast<std::int32_t>(std::uint64_t{n} * drawn >> 31);
        }
        // A draw in the last, incomplete multiple of n would make small values likelier: it is drawn again.
        std::uint32_t value = drawn % n;
        while (drawn - value + (n - 1) > 0x7FFF'FFFF) {
            drawn = static_cast<std::uint32_t>(next(31));
            value = drawn % n;
        }
        return static_cast<std::int32_t>(value);
    }

    // From 0 to less than 1, of 53 bits.
    constexpr double next_double() noexcept {
        const std::uint64_t high = next(26);
        return static_cast<double>(high << 27 | next(27)) * 0x1.0p-53;
    }

private:
    static constexpr std::uint64_t multiplier = 0x5DEECE66D;
    static constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;

    constexpr std::uint64_t next(int bits) noexcept {
        state_ = (state_ * multiplier + 0xB) & mask;
        return state_ >> (48 - bits);
    }

    std::uint64_t state_;
};

}  // namespace lab::nexmark
