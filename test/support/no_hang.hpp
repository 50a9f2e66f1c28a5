// For death tests: a process that hangs instead of dying is ended by the system, and the test fails for want of the
// message.
#pragma once

#include <unistd.h>

namespace coflux_test {

/// Ends the calling process with SIGALRM in half a minute.
inline void die_rather_than_hang() noexcept {
    alarm(30);
}

}  // namespace coflux_test
