// The heavy side of base/asymmetric_fence.hpp.
#pragma once

#include <coflux/base/asymmetric_fence.hpp>

namespace coflux::detail::os {

/// Makes each thread of the process pass a full fence. nullptr where the system, or a sandbox, refuses it. Registers
/// the process on the way, which takes some milliseconds the first time if it has several threads.
/// Costs: of a call 0.3 us, and an interrupt on each processor where a thread of the process runs.
[[nodiscard]] heavy_fence find_heavy_fence() noexcept;

}  // namespace coflux::detail::os
