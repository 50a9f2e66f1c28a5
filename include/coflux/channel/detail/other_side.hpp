// Which thread the other end of a queue runs on: whether it helps to look again before a wait.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// One end of a queue, as the other end sees it. An end that keeps up with the other end finds the queue empty (or
/// full) after each value, and to wait and be woken across threads costs as much as tens of values, for both. So where
/// the other end was last seen on another thread, this end leaves the queue alone for a moment, in which the other end
/// moves a run of values.
class other_side {
public:
    /// This end is on this thread. Called where it does something slow anyway.
    void is_here() noexcept {
        if (thread_.load(memory_order_relaxed) != &this_thread) thread_.store(&this_thread, memory_order_relaxed);
    }

    /// Before a wait for that end: true if `ready()` becomes true within some 2 us. At once false where that end was
    /// last seen on this very thread, which must be given up for it to go on.
    template <typename F>
    [[nodiscard]] bool comes_soon(F ready) const noexcept {
        const thread_state* const there = thread_.load(memory_order_relaxed);
        if (there == nullptr || there == &this_thread) return false;
        for (unsigned look = 0; look != 4; ++look) {
            for (unsigned i = 0; i != 20; ++i) cpu_pause();
            if (ready()) return true;
        }
        return false;
    }

private:
    // Where is_here() was called last; nullptr: nowhere yet. relaxed, pairs with nothing: a stale answer costs a wait,
    // or 2 us.
    atomic<const thread_state*> thread_{nullptr};
};

}  // namespace coflux::detail
