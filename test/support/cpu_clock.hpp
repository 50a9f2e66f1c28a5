// What the process has cost so far.
#pragma once

#include <ctime>

namespace coflux_test {

/// CPU time of all threads of the process, in seconds.
inline double process_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace coflux_test
