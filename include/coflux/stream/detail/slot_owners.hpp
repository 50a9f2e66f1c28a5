// slot_owners: which worker of a region owns each slot, and when another map would be better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace coflux::stream::detail {

using slot_owners = std::vector<std::uint32_t>;
/// Records of each slot since the last barrier.
using slot_loads = std::vector<std::uint64_t>;

/// A map that is better balanced; none where the loads are within a quarter of their mean, too small to say, or no move
/// helps: one slot alone may be too much for a worker.
[[nodiscard]] std::optional<slot_owners> balanced(const slot_owners& now, const slot_loads& loads, std::size_t workers);

}  // namespace coflux::stream::detail
