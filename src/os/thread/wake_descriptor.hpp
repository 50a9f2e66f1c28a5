// A descriptor that other code waits on, readable when it is signalled or when a time has come.
#pragma once

#include <cstdint>

namespace coflux::detail::os {

/// Threads: signal() from any; readable_at() from one at a time, and so the other members.
class wake_descriptor {
public:
    /// Errors: std::system_error when the system has none.
    wake_descriptor();
    ~wake_descriptor();
    wake_descriptor(const wake_descriptor&) = delete;
    wake_descriptor& operator=(const wake_descriptor&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return all_; }
    /// It is readable while `other` is, too.
    void include(int other) noexcept;
    /// It is readable until reset().
    void signal() noexcept;
    void reset() noexcept;
    /// It is readable from `deadline` of the steady clock on, in nanoseconds, until it gets another one; the largest:
    /// never.
    void readable_at(std::uint64_t deadline) noexcept;
    /// True if the time has come, and was not taken: it is not readable for it any more.
    bool take_time() noexcept;
    /// Sleeps until it is readable, until `deadline`, or for no reason.
    void wait_until(std::uint64_t deadline) noexcept;

private:
    int all_ = -1;
    int signalled_ = -1;
    int timer_ = -1;
};

}  // namespace coflux::detail::os
