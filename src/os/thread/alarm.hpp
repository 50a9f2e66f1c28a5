// A place to sleep in that ends by a wake or at a time that another thread has set.
#pragma once

#include <cstdint>
#include <utility>

#include "parker.hpp"
#include "wake_descriptor.hpp"

namespace coflux::detail::os {

/// Threads: one sleeps; any may wake; one at a time sets.
class alarm final : public sleeping_place {
public:
    /// Errors: std::system_error.
    alarm() = default;

    void sleep_until(std::uint64_t deadline) noexcept override {
        signalled_.wait_until(deadline);
        signalled_.reset();
        if (signalled_.take_time()) went_off_ = true;
    }
    /// Since it was asked last. Threads: the sleeper's.
    [[nodiscard]] bool take_went_off() noexcept { return std::exchange(went_off_, false); }
    void wake() noexcept override { signalled_.signal(); }
    /// It goes off once, at `at` of the steady clock, in nanoseconds, in place of any time set before.
    void set(std::uint64_t at) noexcept { signalled_.readable_at(at); }

private:
    wake_descriptor signalled_;
    bool went_off_ = false;
};

}  // namespace coflux::detail::os
