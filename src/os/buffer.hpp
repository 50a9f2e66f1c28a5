// Several buffers of one call.
#pragma once

#include <cstddef>

namespace coflux::detail::os {

/// As the system knows it: an iovec.
struct buffer {
    void* data;
    std::size_t size;
};

/// Buffers of one call; the system takes 1024 at least.
inline constexpr std::size_t most_buffers = 64;

}  // namespace coflux::detail::os
