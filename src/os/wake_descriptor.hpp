// A descriptor that other code waits on, readable when it is signalled or when a time has come.
#pragma once

#include <cstdint>

namespace coflux::detail::os {

/// Threads: signal() from any; the other members from one at a time.
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

private:
    int all_ = -1;
    int signalled_ = -1;
    int timer_ = -1;
};

}  // namespace coflux::detail::os
