// A look at another thread of the process, as the system sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coflux::detail::os {

struct thread_times {
    std::uint64_t wall;       ///< nanoseconds of the steady clock
    std::uint64_t processor;  ///< that it had a processor, up to now
    std::uint64_t run_delay;  ///< that it was ready and had none, up to its last turn
    bool is_ready;            ///< it runs, or waits for a processor
};
/// `thread`: as this_thread_number(). False: there is none, or the system does not say.
[[nodiscard]] bool look_at_thread(std::uint64_t thread, thread_times& to) noexcept;

/// How long it has stood still since `begin`, without the time in which it had no processor.
[[nodiscard]] constexpr std::uint64_t stalled_between(const thread_times& begin, const thread_times& now) noexcept {
    // The run delay of a wait that goes on is not counted yet: of a thread that is ready, processor time alone says
    // that it computes.
    // [stall.ready]
    if (now.is_ready) return now.processor - begin.processor;
    const std::uint64_t wall = now.wall - begin.wall;
    const std::uint64_t delay = now.run_delay - begin.run_delay;
    return wall > delay ? wall - delay : 0;
}

/// The name of the system call that it is in, or its number; empty: it is in none. Errors: std::bad_alloc.
[[nodiscard]] std::string system_call_of(std::uint64_t thread);

/// Its stack, innermost call first, by a signal; empty: it has not taken that within two seconds, or the program uses
/// all signals that could be used. One caller at a time. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::string> back_trace_of(std::uint64_t thread);

}  // namespace coflux::detail::os
