// A tree read in order: each node yields its subtrees, and the loop that reads pays the same at any depth.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

struct node {
    std::string name;
    std::unique_ptr<node> left, right;
};

std::unique_ptr<node> leaf(std::string name) {
    return std::make_unique<node>(node{std::move(name), nullptr, nullptr});
}

// Elements are references into the tree. A sub-generator is yielded as if its elements were our own.
coflux::generator<const std::string&> in_order(const node& n) {
    if (n.left) co_yield in_order(*n.left);
    co_yield n.name;
    if (n.right) co_yield in_order(*n.right);
}

// Endless, which is no harm: it runs only as far as it is read.
coflux::generator<int> fibonacci() {
    int a = 0, b = 1;
    for (;;) {
        co_yield a;
        a = std::exchange(b, a + b);
    }
}

coflux::generator<int> fails_after(int n) {
    co_yield n;
    throw std::runtime_error("no more");
}

// An error of a sub-generator comes out of our co_yield; we may go on.
coflux::generator<int> tries(int n) {
    bool failed = false;
    try {
        co_yield fails_after(n);
    } catch (const std::runtime_error& e) {
        std::printf("caught: %s\n", e.what());
        failed = true;
    }
    if (failed) co_yield -n;
}

int main() {
    const node root{"d", std::make_unique<node>(node{"b", leaf("a"), leaf("c")}), leaf("e")};
    for (const std::string& name : in_order(root)) std::printf("%s ", name.c_str());
    std::printf("\n");

    auto even = [](int n) { return n % 2 == 0; };
    for (int n : fibonacci() | std::views::filter(even) | std::views::take(6)) std::printf("%d ", n);
    std::printf("\n");

    for (int n : tries(7)) std::printf("%d\n", n);
}
