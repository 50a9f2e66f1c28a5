// How much of its stack a thread has used.
#pragma once

#include <cstdint>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// How deep, in bytes, coroutines may stand on one another's stack where one awaits the other.
inline constexpr std::uintptr_t stack_for_awaits = 64 * 1024;

/// An address at the end of the stack in use: stacks grow down, so one that is lower than a limit is beyond it.
COFLUX_INLINE std::uintptr_t stack_address() noexcept {
#if defined(__x86_64__)
    std::uintptr_t at;
    asm("movq %%rsp, %0" : "=r"(at));
    return at;
#else
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

}  // namespace coflux::detail
