#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

// Source: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::size_t random_chooser::choose(choice, std::span<const std::uint64_t> candidates) noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    // The high half of the product: without a division, and as even as 64 bits allow.
    return static_cast<std::size_t>(((z >> 32) * candidates.size()) >> 32);
}

}  // namespace coflux::testing
