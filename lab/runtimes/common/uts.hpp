// The nodes of `unbalanced`: trees of the Unbalanced Tree Search benchmark, by its published definition.
#pragma once

#include "harness.hpp"

#include <array>
#include <cstdint>

namespace harness {

// The state of a node: a SHA-1 digest.
using uts_digest = std::array<std::uint8_t, 20>;

struct uts_node {
    uts_digest digest;
    std::uint32_t depth;
};

class uts_tree {
public:
    // The tree that the request names.
    explicit uts_tree(const request& r);

    [[nodiscard]] uts_node root() const noexcept;
    // How many children a node has: 100 at most, but the root of a binomial tree.
    [[nodiscard]] std::uint32_t children_of(const uts_node& node) const noexcept;
    // A child, counted from 0.
    [[nodiscard]] static uts_node child_of(const uts_node& node, std::uint32_t number) noexcept;
    // How many nodes it has, as published.
    [[nodiscard]] std::uint64_t nodes() const noexcept { return nodes_; }

private:
    enum class shape { geometric, binomial };

    shape shape_ = shape::geometric;
    std::uint32_t seed_ = 19;
    std::uint64_t nodes_ = 0;
    // Geometric: the expected children of a node are 4, above this depth.
    std::uint32_t leaves_at_ = 0;
};

}  // namespace harness
