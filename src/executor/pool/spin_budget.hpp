// How long a worker without work looks for some before it parks.
#pragma once

#include <algorithm>
#include <cstddef>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes times, in nanoseconds. One thread.
///
/// Looking pays where work comes before the worker would have parked: then no thread makes a system call. So it is as
/// long as thread_pool_options::spin says while work comes within that time. Each time that work comes later it is
/// halved, down to an eighth.
///
/// Source: halt polling of KVM (halt_poll_ns), which grows and shrinks by the time until the wake-up.
class spin_budget {
public:
    explicit spin_budget(clock_tick longest) noexcept : longest_(longest), now_(longest) {}

    /// Work came `after` the worker had none, whether it looked all that time or was parked.
    void work_came(clock_tick after) noexcept {
        now_ = after <= longest_ ? std::min(longest_, now_ * 2) : std::max(now_ / 2, longest_ / 8);
    }
    [[nodiscard]] clock_tick now() const noexcept { return now_; }

    /// True if a worker that looks takes no processor that another thread needs: `awake` workers of its pool are not
    /// parked, itself among them. On one processor the thread that would bring work cannot run beside it.
    [[nodiscard]] static bool may_look(std::size_t processors, std::size_t awake) noexcept {
        return processors > 1 && awake <= processors;
    }

private:
    clock_tick longest_;
    clock_tick now_;
};

}  // namespace coflux::detail
