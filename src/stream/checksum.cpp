#include <coflux/stream/detail/checksum.hpp>

#include <array>
#include <bit>
#include <cstring>

namespace coflux::stream::detail {
namespace {

constexpr std::uint64_t prime_1 = 0x9e3779b185ebca87U;
constexpr std::uint64_t prime_2 = 0xc2b2ae3d27d4eb4fU;
constexpr std::uint64_t prime_3 = 0x165667b19e3779f9U;
constexpr std::uint64_t prime_4 = 0x85ebca77c2b2ae63U;
constexpr std::uint64_t prime_5 = 0x27d4eb2f165667c5U;

template <typename T>
std::uint64_t take(const std::byte*& from) noexcept {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, from, sizeof(T));
    from += sizeof(T);
    return value;
}
constexpr std::uint64_t round(std::uint64_t sum, std::uint64_t lane) noexcept {
    return std::rotl(sum + lane * prime_2, 31) * prime_1;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t h = prime_5;
    if (left >= 32) {
        std::array<std::uint64_t, 4> sums{prime_1 + prime_2, prime_2, 0, 0 - prime_1};
        for (; left >= 32; left -= 32) {
            for (std::uint64_t& sum : sums) sum = round(sum, take<std::uint64_t>(at));
        }
        h = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) + std::rotl(sums[3], 18);
        for (const std::uint64_t sum : sums) h = (h ^ round(0, sum)) * prime_1 + prime_4;
    }
    h += bytes.size();
    for (; left >= 8; left -= 8) h = std::rotl(h ^ round(0, take<std::uint64_t>(at)), 27) * prime_1 + prime_4;
    if (left >= 4) {
        h = std::rotl(h ^ (take<std::uint32_t>(at) * prime_1), 23) * prime_2 + prime_3;
        left -= 4;
    }
    for (; left != 0; --left) h = std::rotl(h ^ (take<std::uint8_t>(at) * prime_5), 11) * prime_1;
    h = (h ^ (h >> 33)) * prime_2;
    h = (h ^ (h >> 29)) * prime_3;
    return h ^ (h >> 32);
}

}  // namespace coflux::stream::detail
