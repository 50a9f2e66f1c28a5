// The requests of users and systems that a process end: SIGINT and SIGTERM.
#pragma once

#include <cstdint>

namespace coflux::detail::os {

/// From now on the first of these signals does nothing but wake wait_for_end_signal(). One that comes within
/// `same_request` nanoseconds of it does nothing, and a later one has its default effect, which is to end the process.
/// False if that is so already: it holds for one at a time. Errors: std::system_error.
[[nodiscard]] bool take_end_signals(std::int64_t same_request);

/// Blocks the thread until the first signal, and gives its number; 0 after give_back_end_signals().
int wait_for_end_signal() noexcept;

/// Signals have the effect again that they had before take_end_signals(), also one whose handler has begun and not seen
/// yet that they were taken; but one that is the same request as the first does nothing still. Not in a child of
/// fork(): there they have their default effect, and may be taken anew.
void give_back_end_signals() noexcept;

/// When the thread is at its end that has waited: closes what take_end_signals() has opened, and all is as before.
void close_end_signals() noexcept;

}  // namespace coflux::detail::os
