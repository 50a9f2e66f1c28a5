#include "pinning.hpp"

#include <cerrno>
#include <pthread.h>
#include <sched.h>
#include <system_error>
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

bool move_beside(pid_t other) noexcept {
    cpu_set_t before;
    cpu_set_t theirs;
    if (sched_getaffinity(0, sizeof before, &before) != 0 || sched_getaffinity(other, sizeof theirs, &theirs) != 0) {
        return false;
    }
    // Inherited from the process that started this; the kernel takes away what the machine has not and the container
    // may not.
    cpu_set_t all;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
        CPU_SET(i, &all);
    }
    cpu_set_t usable;
    if (sched_setaffinity(0, sizeof all, &all) == 0 && sched_getaffinity(0, sizeof usable, &usable) == 0) {
        cpu_set_t left;
        CPU_XOR(&left, &usable, &theirs);
        CPU_AND(&left, &left, &usable);
        if (CPU_COUNT(&left) > 0 && sched_setaffinity(0, sizeof left, &left) == 0) {
            return true;
        }
    }
    sched_setaffinity(0, sizeof before, &before);
    return false;
}

void stay_on(std::size_t cpus) {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
        for (std::size_t i = 0, kept = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &usable) && ++kept > cpus) {
                CPU_CLR(i, &usable);
            }
        }
        if (sched_setaffinity(0, sizeof usable, &usable) == 0) {
            return;
        }
    }
    throw std::system_error{errno, std::generic_category(), "sched_setaffinity"};
}

}  // namespace harness
