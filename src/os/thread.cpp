#include "thread.hpp"

#include <cstdio>

#if defined(__linux__)
#    include <linux/futex.h>
#    include <pthread.h>
#    include <sched.h>
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

bool parker::park(std::chrono::nanoseconds longest) noexcept {
    const auto deadline =
        std::chrono::steady_clock::now() + (longest.count() < 0 ? std::chrono::nanoseconds(0) : longest);
    while (token_.exchange(0, memory_order_acquire) == 0) {  // pairs with the exchange in unpark()
        timespec left{};
        if (longest.count() >= 0) {
            const auto rest =
                std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now());
            if (rest.count() <= 0) return false;
            left.tv_sec = static_cast<time_t>(rest.count() / 1'000'000'000);
            left.tv_nsec = static_cast<long>(rest.count() % 1'000'000'000);
        }
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&token_), FUTEX_WAIT_PRIVATE, 0,
                longest.count() < 0 ? nullptr : &left, nullptr, 0);
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
std::size_t usable_processors() noexcept {
    const unsigned n = thread::hardware_concurrency();
    return n == 0 ? 1 : n;
}

// One lock for all sleepers: systems without a futex pay for it.
static mutex sleepers_lock;
static condition_variable sleepers;

bool parker::park(std::chrono::nanoseconds longest) noexcept {
    unique_lock<mutex> guard(sleepers_lock);
    const auto woken = [this] {
        return token_.exchange(0, memory_order_acquire) != 0;
    };  // pairs with the exchange in unpark()
    if (longest.count() >= 0) return sleepers.wait_for(guard, longest, woken);
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
