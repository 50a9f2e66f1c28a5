// How much of its stack a thread has used, and where it ends.
#pragma once

#include <cstdint>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// How deep, in bytes, coroutines may lie on one another's stack where one awaits the next.
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

/// `stack_address() < limit`, of a limit in memory.
COFLUX_INLINE bool stack_is_below(const std::uintptr_t& limit) noexcept {
#if defined(__x86_64__)
    bool below;
    // By the flag, because a comparison of stack_address() would be an instruction more. volatile: each look is one of
    // its own.
    asm volatile("cmpq %1, %%rsp" : "=@ccb"(below) : "m"(limit));
    return below;
#else
    return stack_address() < limit;
#endif
}

/// The addresses of a stack: from `low` up to `high`.
struct stack_bounds {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;

    [[nodiscard]] bool has(std::uintptr_t address) const noexcept { return low <= address && address < high; }
    /// Down to where coroutines may begin in the calls that make them. The rest is for the bodies' own calls, and
    /// for the 64 resumptions that may lie on one another without tail calls.
    [[nodiscard]] std::uintptr_t room() const noexcept {
        const std::uintptr_t half = (high - low) / 2;
        return low + (half < left_over ? half : left_over);
    }
    static constexpr std::uintptr_t left_over = 256 * 1024;
};

/// A part of a stack in which something may begin; empty at first.
struct stack_window {
    std::uintptr_t low = 0;
    std::uintptr_t size = 0;

    /// Both ends in one comparison.
    [[nodiscard]] COFLUX_INLINE bool has(std::uintptr_t address) const noexcept { return address - low < size; }
};

/// Those of the calling thread; both 0 where the system does not say. The first question of a thread may take
/// microseconds.
stack_bounds bounds_of_this_stack() noexcept;

}  // namespace coflux::detail
