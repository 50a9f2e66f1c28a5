#include "thread.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>

#if defined(__linux__)
#    include <linux/futex.h>
#    include <pthread.h>
#    include <sched.h>
#    include <sys/prctl.h>
#    include <sys/syscall.h>
#    include <time.h>
#    include <unistd.h>
#endif

#include <coflux/base/thread.hpp>

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
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    return static_cast<std::size_t>(CPU_COUNT(&allowed));
}

void expect_precise_wake_ups() noexcept {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // nanoseconds; refused at worst
}

bool parker::park_until(std::uint64_t deadline) noexcept {
    timespec at{};
    at.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
    at.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
    while (token_.exchange(0, memory_order_acquire) == 0) {  // pairs with the exchange in unpark()
        // WAIT_BITSET, because it takes an absolute time of CLOCK_MONOTONIC, which is the steady clock.
        const long ended =
            syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&token_), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0,
                    deadline == never ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (ended != 0 && errno == ETIMEDOUT)
            return token_.exchange(0, memory_order_acquire) != 0;  // pairs with the exchange in unpark()
    }
    return true;
}

void parker::unpark() noexcept {
    if (token_.exchange(1, memory_order_release) == 0) {  // pairs with the exchange in park()
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&token_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}
static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the futex word is the atomic itself");

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

// One lock for all sleepers: systems without a futex pay for it.
static mutex sleepers_lock;
static condition_variable sleepers;

bool parker::park_until(std::uint64_t deadline) noexcept {
    using clock = std::chrono::steady_clock;
    unique_lock<mutex> guard(sleepers_lock);
    const auto woken = [this] {
        return token_.exchange(0, memory_order_acquire) != 0;
    };  // pairs with the exchange in unpark()
    if (deadline != never) {
        const std::chrono::nanoseconds at(static_cast<std::int64_t>(deadline));
        return sleepers.wait_until(guard, clock::time_point(at), woken);
    }
    sleepers.wait(guard, woken);
    return true;
}

void parker::unpark() noexcept {
    {
        lock_guard<mutex> guard(sleepers_lock);
        token_.exchange(1, memory_order_release);  // pairs with the exchange in park()
    }
    sleepers.notify_all();
}

#endif

}  // namespace coflux::detail::os
