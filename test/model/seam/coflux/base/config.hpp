// The seam's config: the library's own, but a waiting thread lets the model run another, and nothing needs a cache
// line.
#pragma once

#define cpu_pause cpu_pause_of_the_machine
#define cache_line cache_line_of_the_machine
#include_next <coflux/base/config.hpp>
#undef cpu_pause
#undef cache_line

namespace coflux::model {

void let_others_run() noexcept;

}  // namespace coflux::model

namespace coflux::detail {

inline constexpr std::size_t cache_line = 16;

inline void cpu_pause() noexcept {
    model::let_others_run();
}

}  // namespace coflux::detail
