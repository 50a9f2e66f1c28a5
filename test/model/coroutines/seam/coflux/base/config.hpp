// The same as base/config.hpp, but for the pause of a loop that waits: there Relacy runs another thread.
#pragma once

#define COFLUX_LONGEST_LOOK 2
#define COFLUX_LONGEST_STOP_STEP 1
#define cpu_pause cpu_pause_of_the_processor
#include_next <coflux/base/config.hpp>
#undef cpu_pause

namespace coflux::detail {

void cpu_pause() noexcept;  // test/model/coroutines/support/model_memory.cpp

}  // namespace coflux::detail
