// The frame pool's central lists, one for each class.
#pragma once

#include "memory/detail/central_list.hpp"

namespace coflux::detail {

inline constinit central_list central[frame_cache::classes];

}  // namespace coflux::detail
