// Seeded random numbers that cost little to seed.
#pragma once

#include <cstdint>

namespace coflux_test {

/// splitmix64.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t operator()() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    /// Below `bound`.
    unsigned below(unsigned bound) noexcept { return static_cast<unsigned>((*this)() >> 32) % bound; }
    bool one_in(unsigned n) noexcept { return below(n) == 0; }

private:
    std::uint64_t state_;
};

}  // namespace coflux_test
