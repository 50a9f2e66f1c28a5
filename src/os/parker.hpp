// Parks one thread until another thread wakes it.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// A wake before the sleep is kept.
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
