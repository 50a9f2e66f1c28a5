// How much of the machine's processors the control groups of this process leave it.
#pragma once

#include <cstddef>

namespace coflux::detail::os {

/// Whole processors, at least 1, that the process may use in each period of time by the narrowest quota of its control
/// groups and those above them; `none` if there is no quota. `groups` lists them as /proc/self/cgroup does, and below
/// `mount` they are, version 2 at its top and version 1 in the folder `cpu`.
/// Errors: what cannot be read or understood is no quota.
std::size_t cpu_quota(const char* groups, const char* mount, std::size_t none) noexcept;

}  // namespace coflux::detail::os
