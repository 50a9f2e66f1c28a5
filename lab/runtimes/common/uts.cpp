#include "uts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>

namespace harness {
namespace {

constexpr std::uint32_t most_children = 100;

// SHA-1 of one block: all that is hashed here has 20 or 24 bytes.
uts_digest sha1(std::span<const std::uint8_t> message) noexcept {
    std::array<std::uint8_t, 64> block{};
    std::copy(message.begin(), message.end(), block.begin());
    block[message.size()] = 0x80;
    block[63] = static_cast<std::uint8_t>(message.size() * 8);
    std::array<std::uint32_t, 80> w;
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
               std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    }
    for (std::size_t i = 16; i < w.size(); ++i) {
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    std::array<std::uint32_t, 5> h{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    auto [a, b, c, d, e] = h;
    const auto rounds = [&](std::size_t from, std::uint32_t k, auto f) {
        for (std::size_t i = from; i < from + 20; ++i) {
            const std::uint32_t next = std::rotl(a, 5) + f(b, c, d) + e + k + w[i];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
    };
    const auto parity = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x ^ y ^ z; };
    rounds(0, 0x5A827999, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return (x & y) | (~x & z); });
    rounds(20, 0x6ED9EBA1, parity);
    rounds(40, 0x8F1BBCDC, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return (x & y) | (z & (x | y)); });
    rounds(60, 0xCA62C1D6, parity);
    const std::array<std::uint32_t, 5> sums{h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
    uts_digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<std::uint8_t>(sums[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
}

template <std::size_t N>
void put(std::array<std::uint8_t, N>& bytes, std::size_t at, std::uint32_t number) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
        bytes[at + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    }
}

}  // namespace

uts_tree::uts_tree(const request& r) {
    const std::string name = r.choice("tree", {"small", "medium", "T1", "T3"});
    if (name == "T3") {
        shape_ = shape::binomial;
        seed_ = 42;
        nodes_ = 4'112'897;
    } else {
        leaves_at_ = name == "small" ? 4 : name == "medium" ? 8 : 10;
        nodes_ = name == "small" ? 944 : name == "medium" ? 257'042 : 4'130'071;
    }
}

uts_node uts_tree::root() const noexcept {
    uts_digest seed{};
    put(seed, 16, seed_);
    return {.digest = sha1(seed), .depth = 0};
}

std::uint32_t uts_tree::children_of(const uts_node& node) const noexcept {
    const auto& d = node.digest;
    const std::uint32_t number =
        (std::uint32_t{d[16]} & 0x7F) << 24 | std::uint32_t{d[17]} << 16 | std::uint32_t{d[18]} << 8 | d[19];
    const double share = number / 2147483648.0;
    if (shape_ == shape::binomial) {
        if (node.depth == 0) {
            return 2'000;
        }
        return share < 0.124875 ? 8 : 0;
    }
    if (node.depth >= leaves_at_) {
        return 0;
    }
    const double children = std::floor(std::log(1 - share) / std::log(1 - 1 / (1 + 4.0)));
    return std::min(static_cast<std::uint32_t>(children), most_children);
}

uts_node uts_tree::child_of(const uts_node& node, std::uint32_t number) noexcept {
    std::array<std::uint8_t, 24> message;
    std::copy(node.digest.begin(), node.digest.end(), message.begin());
    put(message, 20, number);
    return {.digest = sha1(message), .depth = node.depth + 1};
}

}  // namespace harness
