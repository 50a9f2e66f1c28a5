// checksum: what tells bytes that were changed from those that were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coflux::stream::detail {

/// XXH64 with seed 0. Two contents that differ have the same one with a probability of 2^-64.
/// Source: Y. Collet, xxHash fast digest algorithm, version 0.1.1, "XXH64 algorithm description".
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace coflux::stream::detail
