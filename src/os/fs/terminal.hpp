// Whether a stream of the C library is a terminal.
#pragma once

#include <cstdio>

namespace coflux::detail::os {

/// The width of the terminal that `out` writes to; 0: it is none.
[[nodiscard]] unsigned columns_of(std::FILE* out) noexcept;

}  // namespace coflux::detail::os
