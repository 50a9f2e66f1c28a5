#include "pinning.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace harness {

void pin_this_thread(std::size_t cpu) noexcept {
    cpu_set_t usable;
    if (sched_getaffinity(getpid(), sizeof usable, &usable) != 0) {
        return;
    }
    std::size_t left = cpu % static_cast<std::size_t>(CPU_COUNT(&usable));
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &usable) && left-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

}  // namespace harness
