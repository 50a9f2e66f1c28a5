// A signal that the program does not use itself.
#pragma once

#include <signal.h>

namespace coflux::detail::os {

using signal_function = void (*)(int signal, siginfo_t* from, void* context);

/// Gives `handler` the highest real-time signal that has none. It keeps that for ever: a signal that comes late would
/// end the process else. System calls that can begin again do so after it. 0: the program has handlers for all.
[[nodiscard]] int take_free_signal(signal_function handler) noexcept;

}  // namespace coflux::detail::os
