// Random numbers of the system.
#pragma once

#include <cstddef>

namespace coflux::detail::os {

/// Fills memory of at most 256 bytes with numbers that cannot be foretold, and that differ in a child of fork(). 0, or
/// the negative error number.
int fill_random(void* into, std::size_t bytes) noexcept;

}  // namespace coflux::detail::os
