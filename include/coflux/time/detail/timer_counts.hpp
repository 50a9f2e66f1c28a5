// How many timers of one wheel were armed, and how they ended.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Written under the lock of the timers, read by any thread: relaxed, pairs with nothing.
class timer_counts {
public:
    COFLUX_INLINE void add_armed() noexcept { add(armed_, 1); }
    COFLUX_INLINE void add_cancelled() noexcept { add(cancelled_, 1); }
    void add_fired(std::uint64_t n) noexcept { add(fired_, n); }

    [[nodiscard]] std::uint64_t armed() const noexcept { return armed_.load(memory_order_relaxed); }
    [[nodiscard]] std::uint64_t cancelled() const noexcept { return cancelled_.load(memory_order_relaxed); }
    [[nodiscard]] std::uint64_t fired() const noexcept { return fired_.load(memory_order_relaxed); }

private:
    static COFLUX_INLINE void add(atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
        to.store(to.load(memory_order_relaxed) + n, memory_order_relaxed);
    }

    atomic<std::uint64_t> armed_{0};
    atomic<std::uint64_t> cancelled_{0};
    atomic<std::uint64_t> fired_{0};
};

}  // namespace coflux::detail
