// The threads' use of the processors: their time, and how often they go to sleep.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <thread>

#include <sys/resource.h>

namespace coflux_test {

inline std::chrono::nanoseconds time_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}
/// The time of all threads of the process.
inline std::chrono::nanoseconds process_cpu_time() {
    return time_of(CLOCK_PROCESS_CPUTIME_ID);
}
/// The time of the calling thread. It does not pass while other programs have the processor.
inline std::chrono::nanoseconds thread_cpu_time() {
    return time_of(CLOCK_THREAD_CPUTIME_ID);
}

/// How often threads of the process have gone to sleep.
inline std::size_t voluntary_switches() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<std::size_t>(used.ru_nvcsw);
}

/// Whether the process comes to use less than `share` of a processor for the length of a window. It tries many windows,
/// because on a busy machine a thread may come late to its rest, and the system counts interrupts with the thread that
/// they interrupt. A process that does not rest spoils all of them.
inline bool comes_to_rest(double share, std::chrono::milliseconds window) {
    for (int windows = 0; windows < 30; ++windows) {
        const auto before = process_cpu_time();
        std::this_thread::sleep_for(window);
        if (process_cpu_time() - before < window * share) return true;
    }
    return false;
}

}  // namespace coflux_test
