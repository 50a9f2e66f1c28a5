#include <coflux/time/detail/delay_heap.hpp>

#include <utility>

namespace coflux::detail {
namespace {

unsigned rank_of(const delay_node* n) noexcept {
    return n != nullptr ? n->rank : 0;
}

/// The way down that is shorter becomes the one by `right`. Returns whether the rank has changed.
bool balance(delay_node& n) noexcept {
    if (rank_of(n.left) < rank_of(n.right)) std::swap(n.left, n.right);
    return std::exchange(n.rank, rank_of(n.right) + 1) != n.rank;
}

}  // namespace

void delay_heap::insert(delay_node& n) noexcept {
    n.above = n.left = n.right = nullptr;
    n.rank = 1;
    n.is_in = true;
    root_ = merged(root_, &n);
}

void delay_heap::remove(delay_node& n) noexcept {
    delay_node* const above = n.above;
    delay_node* const rest = merged(n.left, n.right);
    if (rest != nullptr) rest->above = above;
    if (above == nullptr) {
        root_ = rest;
    } else {
        (above->left == &n ? above->left : above->right) = rest;
        // Where a rank stays, so do those above. Each step before that takes one from a rank.
        for (delay_node* up = above; up != nullptr && balance(*up); up = up->above) {}
    }
    n.is_in = false;
}

/// Two trees as one: the ways down by `right` of both, in order.
delay_node* delay_heap::merged(delay_node* a, delay_node* b) noexcept {
    delay_node* root = nullptr;
    delay_node** end = &root;
    delay_node* last = nullptr;
    while (a != nullptr && b != nullptr) {
        if (b->comes_before(*a)) std::swap(a, b);
        *end = a;
        a->above = last;
        last = a;
        end = &a->right;
        a = a->right;
    }
    delay_node* const rest = a != nullptr ? a : b;
    *end = rest;
    if (rest != nullptr) rest->above = last;
    for (delay_node* n = last; n != nullptr; n = n->above) (void)balance(*n);
    return root;
}

}  // namespace coflux::detail
