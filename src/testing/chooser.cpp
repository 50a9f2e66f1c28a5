#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

std::uint64_t random_numbers::next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

// The high half of the product: without a division, and as even as 32 bits allow.
std::size_t random_numbers::below(std::size_t below) noexcept {
    return static_cast<std::size_t>(((next() >> 32) * below) >> 32);
}

}  // namespace coflux::testing
