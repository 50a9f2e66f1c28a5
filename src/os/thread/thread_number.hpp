// The numbers by which the system knows threads and the process.
#pragma once

#include <cstdint>

namespace coflux::detail::os {

/// The number of the calling thread; 0 where the system has none.
std::uint64_t this_thread_number() noexcept;
std::uint64_t this_process_number() noexcept;

}  // namespace coflux::detail::os
