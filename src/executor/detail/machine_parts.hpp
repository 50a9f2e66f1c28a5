// The parts of a machine as a reader finds them, before they are a topology.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <coflux/executor/topology.hpp>

namespace coflux::detail {

struct machine_parts {
    /// In any order; what may not be used is among them or not. `core` is any number that those of a core share, and
    /// `caches` is empty.
    std::vector<topology::processor> processors{};
    /// In any order, each once or more. `processors` may have some that may not be used.
    std::vector<topology::cache> caches{};
    /// None: all.
    std::vector<unsigned> allowed{};
    std::optional<double> quota{};
};

/// The processors that run and all caches, below a folder in place of /sys.
[[nodiscard]] machine_parts parts_in_sysfs(const std::string& root);

/// False where Coflux is built without hwloc.
[[nodiscard]] bool has_hwloc() noexcept;
/// The parts of this machine by hwloc; no processors where it says nothing.
[[nodiscard]] machine_parts parts_by_hwloc();

}  // namespace coflux::detail
