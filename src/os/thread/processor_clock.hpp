// The clock of another thread's processor time.
#pragma once

#include <cstdint>
#include <ctime>

namespace coflux::detail::os {

/// The kernel makes its number of the thread's, as pthread_getcpuclockid() does.
constexpr clockid_t processor_clock_of(std::uint64_t thread) noexcept {
    constexpr unsigned of_thread = 4;
    constexpr unsigned by_scheduler = 2;
    return static_cast<clockid_t>((~static_cast<unsigned>(thread)) << 3 | of_thread | by_scheduler);
}

}  // namespace coflux::detail::os
