// Parks one thread until another thread wakes it.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// A place to sleep in other than the parker's own.
class sleeping_place {
public:
    /// Until wake(), or until `deadline`, or for no reason.
    virtual void sleep_until(std::uint64_t deadline) noexcept = 0;
    /// Ends the sleep, or the next one. Any thread.
    virtual void wake() noexcept = 0;

protected:
    ~sleeping_place() = default;
};

/// A wake before the sleep is kept.
class parker {
public:
    /// No end but unpark().
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// Sleeps until unpark(), or until `deadline` of the steady clock in nanoseconds. True if it was woken.
    bool park_until(std::uint64_t deadline) noexcept;
    /// The same in `place`, whose own events end it, too: then false. `place` lives as long as wakers do: one that
    /// comes late wakes that of the next sleep for no reason.
    bool park_in(sleeping_place& place, std::uint64_t deadline) noexcept;
    void unpark() noexcept;

private:
    // 0 nothing, 1 a wake is waiting, 2 the thread sleeps in place_. Woken by exchange to 1, taken by exchange to 0
    // (acquire; pairs with the release of the waker): the sleeper sees what the waker did. 0 -> 2 by CAS (release;
    // pairs with the acquire of the waker, which then reads place_).
    static constexpr std::uint32_t elsewhere = 2;
    atomic<std::uint32_t> token_{0};
    atomic<sleeping_place*> place_{nullptr};  // written by the sleeper before 0 -> 2, which orders it
};

}  // namespace coflux::detail::os
