// The library's calls of the operating system, on the machine.
#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/base/thread.hpp>

#include "executor/detail/machine_parts.hpp"
#include "machine.hpp"
#include "os/thread/futex.hpp"
#include "os/thread/heavy_fence.hpp"
#include "os/thread/thread.hpp"

namespace coflux::detail {

void yield_processor() noexcept {
    machine::yield();
}

stack_bounds bounds_of_this_stack() noexcept {
    const machine::stack s = machine::stack_here();
    stack_bounds bounds;
    bounds.low = s.low;
    bounds.high = s.high;
    return bounds;
}

bool has_hwloc() noexcept {
    return false;
}
machine_parts parts_by_hwloc() {
    return {};
}
machine_parts parts_in_sysfs(const std::string&) {
    machine_parts parts;
    const machine::shape s = machine::of_now();
    for (unsigned p = 0; p < s.processors; ++p) {
        const unsigned node = p / ((s.processors + s.nodes - 1) / s.nodes);
        parts.processors.push_back({.number = p, .core = p, .package = node, .node = node});
    }
    return parts;
}

namespace os {
namespace {

// The library's clock begins at 1 s.
constexpr std::uint64_t begin_of_clock = 1'000'000'000;

void pass_everywhere() noexcept {
    machine::fence_all();
}

}  // namespace

bool sleep_while_zero(atomic<std::uint32_t>& word, std::uint64_t deadline) noexcept {
    if (word.load(memory_order_relaxed) != 0) return false;  // no other thread runs between the two
    return machine::sleep_at(&word, deadline == ~std::uint64_t{0} ? deadline : deadline - begin_of_clock);
}
void wake_sleeper(atomic<std::uint32_t>& word) noexcept {
    machine::wake_at(&word, false);
}

heavy_fence find_heavy_fence() noexcept {
    return &pass_everywhere;
}

void name_this_thread(const char*) noexcept {}
bool pin_this_thread(std::size_t n) noexcept {
    machine::bind_to(static_cast<unsigned>(n % machine::of_now().processors));
    return true;
}
bool bind_this_thread(unsigned processor) noexcept {
    machine::bind_to(processor);
    return true;
}
std::vector<unsigned> allowed_processors() {
    std::vector<unsigned> all;
    for (unsigned p = 0; p < machine::of_now().processors; ++p) all.push_back(p);
    return all;
}
void expect_precise_wake_ups() noexcept {}
void keep_thread_of_parent(thread&&) noexcept {}
std::size_t usable_processors() noexcept {
    return machine::of_now().processors;
}

}  // namespace os
}  // namespace coflux::detail
