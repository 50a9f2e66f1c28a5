// fault_point: a point where inject() may throw.
#pragma once

#include <cstddef>
#include <exception>

namespace coflux::testing {

/// The exception of fault_point() where inject() has it throw.
class injected_fault : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "coflux: an injected fault"; }
};

/// A point that may fail: call it where the real thing could throw, in a mock or in code under test. It does nothing
/// but under inject(fault_points, …), which has it throw injected_fault the n-th time that it is called.
///
/// Threads: any; all share one count.
/// Costs: a relaxed load.
void fault_point();

namespace detail {

/// The `n`-th call of fault_point() from now throws; 0 disarms.
void arm_fault(std::size_t n) noexcept;
/// True if one has thrown since arm_fault().
[[nodiscard]] bool fault_happened() noexcept;

}  // namespace detail
}  // namespace coflux::testing
