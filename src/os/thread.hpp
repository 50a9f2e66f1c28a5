// What the runtime asks of the operating system about threads; the only place with its headers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// Names the calling thread; cut to what the system allows.
void name_this_thread(const char* name) noexcept;

/// Binds the calling thread to the n-th processor that the process may use, modulo their number; false if the system
/// refuses.
bool pin_this_thread(std::size_t n) noexcept;

/// Number of processors that the process may use, at least 1.
std::size_t usable_processors() noexcept;

/// A place for one thread to sleep and for others to wake it. A wake before the sleep is kept.
class parker {
public:
    /// Sleeps until unpark() or, if `longest` is not negative, until it has passed. True if it was woken.
    bool park(std::chrono::nanoseconds longest) noexcept;
    void unpark() noexcept;

private:
    // 0 nothing, 1 a wake is waiting. Woken by exchange to 1 (release), taken by exchange to 0 (acquire): the
    // sleeper sees what the waker did.
    atomic<std::uint32_t> token_{0};
};

}  // namespace coflux::detail::os
