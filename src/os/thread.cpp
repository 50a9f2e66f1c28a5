#include "thread.hpp"

#include <algorithm>
#include <cstdio>

#if defined(__linux__)
#    include <pthread.h>
#    include <sched.h>
#    include <sys/prctl.h>
#endif

#include <coflux/base/thread.hpp>

#include "cpu_quota.hpp"

namespace coflux::detail::os {

#if defined(__linux__)

void name_this_thread(const char* name) noexcept {
    char cut[16];
    std::snprintf(cut, sizeof cut, "%s", name);
    pthread_setname_np(pthread_self(), cut);
}

bool pin_this_thread(std::size_t n) noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    std::size_t skip = n % static_cast<std::size_t>(CPU_COUNT(&allowed));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || skip-- != 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
    }
    return false;
}

std::size_t usable_processors() noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)  // more processors than a cpu_set_t counts
        return std::max<std::size_t>(1, thread::hardware_concurrency());
    const auto processors = static_cast<std::size_t>(CPU_COUNT(&allowed));
    return std::min(processors, cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup", processors));
}

void expect_precise_wake_ups() noexcept {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // nanoseconds; refused at worst
}

#else

void name_this_thread(const char*) noexcept {}
bool pin_this_thread(std::size_t) noexcept {
    return false;
}
void expect_precise_wake_ups() noexcept {}
std::size_t usable_processors() noexcept {
    const unsigned n = thread::hardware_concurrency();
    return n == 0 ? 1 : n;
}

#endif

}  // namespace coflux::detail::os
