// How much of the machine's processors the control groups of this process leave it.
#pragma once

#include <cstddef>

namespace coflux::detail::os {

/// Processors that the process may use in each period of time, also a part of one, by the narrowest quota of its
/// control groups and those above them; infinity if there is no quota. `groups` lists them as /proc/self/cgroup does,
/// and below `mount` they are, version 2 at its top and version 1 in the folder `cpu`.
/// Errors: what cannot be read or understood is no quota.
double cpu_share(const char* groups, const char* mount) noexcept;

/// That of this process.
double cpu_share() noexcept;

/// The whole ones among `processors`, at least 1, that a share lets run at once.
std::size_t whole_processors(double share, std::size_t processors) noexcept;

}  // namespace coflux::detail::os
