#include <coflux/testing/fault_point.hpp>

#include <coflux/base/atomic.hpp>

namespace coflux::testing {
namespace {

using namespace coflux::detail;

// Calls left until one throws; 0: none does. Counts only, and orders nothing: relaxed, pairs with nothing.
atomic<std::size_t> calls_left{0};
// false: not yet; true: one has thrown. Read when the callers have ended.
atomic<bool> happened{false};

}  // namespace

void fault_point() {
    std::size_t left = calls_left.load(memory_order_relaxed);
    while (left != 0 && !calls_left.compare_exchange_weak(left, left - 1, memory_order_relaxed)) {}
    if (left != 1) return;
    happened.store(true, memory_order_relaxed);
    throw injected_fault();
}

namespace detail {

void arm_fault(std::size_t n) noexcept {
    happened.store(false, memory_order_relaxed);
    calls_left.store(n, memory_order_relaxed);
}
bool fault_happened() noexcept {
    return happened.load(memory_order_relaxed);
}

}  // namespace detail
}  // namespace coflux::testing
