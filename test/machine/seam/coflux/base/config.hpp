// The machine's seam for facts of the build: the library's own, but a thread that waits does so in the machine's time.
#pragma once

#define cpu_pause cpu_pause_of_this_machine
#include_next <coflux/base/config.hpp>
#undef cpu_pause

#include "../../../machine.hpp"

namespace coflux::detail {

inline void cpu_pause() noexcept {
    machine::pause();
}

}  // namespace coflux::detail
