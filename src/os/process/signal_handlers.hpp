// Words that handlers of signals read, and that a child of fork() has copies of.
#pragma once

#include <cstdint>

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// Where the handlers of one process write to. In a child it is still the parent's, and no handler writes there.
struct handler_target {
    pid_t process = 0;    ///< 0: of none
    int descriptor = -1;  ///< -1: none yet, or no more
    friend bool operator==(const handler_target&, const handler_target&) = default;
};

/// A handler_target that handlers read, all of it at once.
class handler_target_word {
public:
    [[nodiscard]] handler_target load() const noexcept { return from(word_.load()); }
    void store(handler_target t) noexcept { word_.store(word_of(t)); }
    /// Goes, for a process that takes signals, from a target that is not its own to one that has no descriptor yet.
    /// False where it has taken them before.
    [[nodiscard]] bool take(pid_t process) noexcept {
        std::uint64_t seen = word_.load();
        return from(seen).process != process && word_.compare_exchange_strong(seen, word_of({process, -1}));
    }

private:
    static std::uint64_t word_of(handler_target t) noexcept {
        return std::uint64_t{static_cast<std::uint32_t>(t.process)} << 32 |
               static_cast<std::uint32_t>(t.descriptor + 1);
    }
    static handler_target from(std::uint64_t word) noexcept {
        return {static_cast<pid_t>(word >> 32), static_cast<int>(word & 0xffff'ffffU) - 1};
    }

    atomic<std::uint64_t> word_{0};  // 0: handler_target(). All orders are seq_cst: see running_handlers
    static_assert(atomic<std::uint64_t>::is_always_lock_free, "a handler uses it");
};

/// Counts handlers that may use what they have found in a handler_target_word. A handler counts itself, and then reads
/// that word; what ends a target writes that word, and then waits here: all orders are seq_cst.
class running_handlers {
public:
    /// By a handler, in the process that it is of.
    void enter() noexcept {
        const std::uint64_t none = none_of(::getpid());
        std::uint64_t seen = word_.load();
        // Those that are counted in the copy of a child run in its parent.
        while (!word_.compare_exchange_weak(seen, is_of(seen, none) ? seen + 1 : none + 1)) {}
    }
    void leave() noexcept { word_.fetch_sub(1); }
    /// Handlers run for less than a microsecond, and block all signals.
    void wait_until_none() const noexcept {
        const std::uint64_t none = none_of(::getpid());
        for (std::uint64_t seen = word_.load(); is_of(seen, none) && seen != none; seen = word_.load()) sched_yield();
    }

private:
    static std::uint64_t none_of(pid_t process) noexcept {
        return std::uint64_t{static_cast<std::uint32_t>(process)} << 32;
    }
    static bool is_of(std::uint64_t word, std::uint64_t none) noexcept { return word >> 32 == none >> 32; }

    atomic<std::uint64_t> word_{0};  // the process in the upper half, how many in the lower
};

}  // namespace coflux::detail::os
