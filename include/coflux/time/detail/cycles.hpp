// The processor's count of cycles.
#pragma once

#include <cstdint>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// A count that grows with time, and costs some 20 cycles to read where the processor has one; else nanoseconds.
inline std::uint64_t cycles_now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return tick_now();
#endif
}

}  // namespace coflux::detail
