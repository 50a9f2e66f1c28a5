// Which thread the other end of a queue runs on: whether it helps to look again before a wait.
#pragma once

#include <cstddef>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// One end of a queue, as its peer at the other end sees it. An end that keeps up with its peer finds the queue empty
/// (or full) after each value, and to wait and be woken across threads costs as much as tens of values, for both. So
/// where the peer was last seen on another thread, this end leaves the queue alone for a moment, in which the peer
/// moves a run of values.
class peer {
public:
    /// This end is on this thread. Called where it does something slow anyway.
    void set_here() noexcept {
        if (thread_.load(memory_order_relaxed) != &this_thread) thread_.store(&this_thread, memory_order_relaxed);
    }

    /// Before a wait for that end, looks again for some 2 us: true once `ready()` is. At once false where that end was
    /// last seen on this very thread, which must be given up for it to go on.
    template <typename F>
    [[nodiscard]] bool spin_until(F ready) const noexcept {
        return spin(fewest_pauses, ready);
    }
    /// The same for an end that can say how many values the peer has moved: true once `count()` is not 0. Where they
    /// come fast, one in 160 ns or faster, the peer is left alone for longer the next time, up to 5 us. Called by the
    /// other end alone.
    template <typename F>
    [[nodiscard]] bool spin_until_some(F count) noexcept {
        const bool some = spin(pauses_, [this, count]() noexcept {
            const std::size_t n = count();
            if (n == 0) return false;
            const unsigned longer = pauses_ * 2 < most_pauses ? pauses_ * 2 : most_pauses;
            pauses_ = n * pauses_a_value >= pauses_ ? longer : fewest_pauses;
            return true;
        });
        if (!some) pauses_ = fewest_pauses;
        return some;
    }

private:
    static constexpr unsigned fewest_pauses = 20;  // each takes 25 to 40 ns
    static constexpr unsigned most_pauses = 120;
    static constexpr unsigned pauses_a_value = 4;
    static constexpr unsigned pauses_in_vain = 80;  // and a look more at most; the worker may have other work

    template <typename F>
    [[nodiscard]] bool spin(unsigned pauses, F ready) const noexcept {
        const thread_state* const there = thread_.load(memory_order_relaxed);
        if (there == nullptr || there == &this_thread) return false;
        for (unsigned spent = 0; spent < pauses_in_vain; spent += pauses) {
            for (unsigned i = 0; i != pauses; ++i) cpu_pause();
            if (ready()) return true;
        }
        return false;
    }

    // Where set_here() was called last; nullptr: nowhere yet. relaxed, pairs with nothing: a stale answer costs a wait,
    // or 2 to 5 us.
    atomic<const thread_state*> thread_{nullptr};
    unsigned pauses_ = fewest_pauses;  // of the other end
};

}  // namespace coflux::detail
