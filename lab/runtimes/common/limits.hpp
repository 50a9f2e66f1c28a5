// The limits that the system sets a process, for the workloads that need much of it.
#pragma once

#include <cstdint>

namespace harness {

// Lets this process have as many descriptors as it may. Returns how many these are.
std::uint64_t raise_descriptors() noexcept;

}  // namespace harness
