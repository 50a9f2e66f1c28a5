// What the runtime asks of the operating system about threads; the only place with its headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// Names the calling thread; cut to what the system allows.
void name_this_thread(const char* name) noexcept;

/// Binds the calling thread to the n-th processor that the process may use, modulo their number; false if the system
/// refuses.
bool pin_this_thread(std::size_t n) noexcept;

/// Asks the system to end this thread's sleeps when they are over, not up to 50 us later so that several end together.
void expect_precise_wake_ups() noexcept;

/// Number of processors that the process may use, at least 1.
std::size_t usable_processors() noexcept;

/// A place for one thread to sleep and for others to wake it. A wake before the sleep is kept.
class parker {
public:
    /// No end but unpark().
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// Sleeps until unpark(), or until `deadline` of the steady clock in nanoseconds. True if it was woken.
    bool park_until(std::uint64_t deadline) noexcept;
    void unpark() noexcept;

private:
    // 0 nothing, 1 a wake is waiting. Woken by exchange to 1 (release), taken by exchange to 0 (acquire): the
    // sleeper sees what the waker did.
    atomic<std::uint32_t> token_{0};
};

}  // namespace coflux::detail::os
