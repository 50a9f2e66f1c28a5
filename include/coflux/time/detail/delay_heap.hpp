// A queue by moment, whose links are members of its elements.
#pragma once

#include <cstdint>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// One element; derive from it.
struct delay_node {
    clock_tick when = 0;
    std::uint64_t order = 0;  // decides where `when` is equal
    delay_node* above = nullptr;
    delay_node* left = nullptr;
    delay_node* right = nullptr;
    unsigned rank = 1;  // how many nodes the way down by `right` has
    bool is_in = false;

    [[nodiscard]] bool comes_before(const delay_node& other) const noexcept {
        return when != other.when ? when < other.when : order < other.order;
    }
};

/// Elements in order of their moments. Each way down by `right` is as short as it can be below its node, so that of n
/// elements it has at most log2(n + 1); all that is done follows such ways.
///
/// Threads: one at a time.
/// Costs: O(log n) to insert and to remove, also at worst; no allocation.
/// Source: C. A. Crane, Linear Lists and Priority Queues as Balanced Binary Trees, 1972 (leftist trees).
class delay_heap {
public:
    /// The first; nullptr if there is none.
    [[nodiscard]] delay_node* first() const noexcept { return root_; }
    /// Pre: `n` is in no heap; `when` and `order` say where it comes.
    void insert(delay_node& n) noexcept;
    /// Pre: `n` is in this heap.
    void remove(delay_node& n) noexcept;

private:
    static delay_node* merged(delay_node* a, delay_node* b) noexcept;

    delay_node* root_ = nullptr;
};

}  // namespace coflux::detail
