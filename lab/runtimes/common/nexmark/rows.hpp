// The sum that the rows of an answer are added up to: a number of 64 bits that does not depend on their order, so that
// parts of an answer may be added up apart.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace lab::nexmark {

class row_sum {
public:
    // One row, field by field.
    template <typename... Fields>
    void add(const Fields&... fields) noexcept {
        std::uint64_t hash = 0x9E37'79B9'7F4A'7C15;
        ((hash = mix(hash ^ bits_of(fields))), ...);
        sum_ += hash;
        ++rows_;
    }

    [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

private:
    // A number as it is; of a text the hash FNV-1a.
    template <std::integral Number>
    [[nodiscard]] static constexpr std::uint64_t bits_of(Number number) noexcept {
        return static_cast<std::uint64_t>(number);
    }
    [[nodiscard]] static constexpr std::uint64_t bits_of(std::string_view text) noexcept {
        std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
        for (const char c : text) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3;
        }
        return hash;
    }
    [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
        x *= 0xBF58'476D'1CE4'E5B9;
        return x ^ x >> 32;
    }

    std::uint64_t sum_ = 0;
    std::uint64_t rows_ = 0;
};

}  // namespace lab::nexmark
