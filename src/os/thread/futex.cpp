#include "futex.hpp"

#include <cerrno>
#include <chrono>

#if defined(__linux__)
#    include <linux/futex.h>
#    include <sys/syscall.h>
#    include <time.h>
#    include <unistd.h>
#else
#    include <coflux/base/thread.hpp>
#endif

namespace coflux::detail::os {

#if defined(__linux__)

bool sleep_while_zero(atomic<std::uint32_t>& word, std::uint64_t deadline) noexcept {
    timespec at{};
    at.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
    at.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
    // WAIT_BITSET, because it takes an absolute time of CLOCK_MONOTONIC, which is the steady clock.
    const long ended =
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0,
                deadline == ~std::uint64_t{0} ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
    return ended != 0 && errno == ETIMEDOUT;
}

void wake_sleeper(atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the futex word is the atomic itself");

#else

// One lock for all sleepers: systems without a futex pay for it.
static mutex sleepers_lock;
static condition_variable sleepers;

bool sleep_while_zero(atomic<std::uint32_t>& word, std::uint64_t deadline) noexcept {
    unique_lock<mutex> guard(sleepers_lock);
    if (word.load(memory_order_relaxed) != 0) return false;  // what it says is taken with acquire order by the caller
    if (deadline == ~std::uint64_t{0}) {
        sleepers.wait(guard);
        return false;
    }
    const std::chrono::nanoseconds at(static_cast<std::int64_t>(deadline));
    return sleepers.wait_until(guard, std::chrono::steady_clock::time_point(at)) == std::cv_status::timeout;
}

void wake_sleeper(atomic<std::uint32_t>&) noexcept {
    // A thread that saw 0 under the lock waits by now; a thread that comes later sees the word.
    { const lock_guard<mutex> guard(sleepers_lock); }
    sleepers.notify_all();
}

#endif

}  // namespace coflux::detail::os
