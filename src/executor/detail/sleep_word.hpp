// How a thread says that it is about to sleep, so that other threads wake it only then. The page docs/design/shards.md
// has the protocol.
#pragma once

#include <cstdint>

#include <coflux/base/asymmetric_fence.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// The sleeper: set(), its side of the fence, a look for what wakers may have written, sleep, clear().
/// A waker: writes it, take(); and if that is true, wakes the sleeper.
///
/// Not both miss what the other one wrote. Where the sleeper has a heavy fence, by the fences. Else by the word: of
/// set() and take(), both read-modify-writes, the later one sees what came before the other.
class sleep_word {
public:
    /// The sleeper. acquire pairs with the release of take(), where there is no fence; release with its acquire: what
    /// the sleeper has set before, its other word among it, is seen by the waker that takes this one.
    // [sleep_word.set]
    void set() noexcept { (void)word_.exchange(1, memory_order_acq_rel); }
    /// The sleeper, after its calls of set(). nullptr: it has none, and wakers have the locked instruction.
    static void pass(heavy_fence heavy) noexcept {
        // [sleep_word.pass]
        if (heavy != nullptr) heavy();  // pairs with the light fence of take()
    }
    /// The sleeper, awake again. relaxed, and an exchange: a store would end what take() releases to the next set().
    // [sleep_word.clear]
    void clear() noexcept { (void)word_.exchange(0, memory_order_relaxed); }
    /// A waker. True, for one waker of each set(): it wakes the sleeper. `fenced`: the sleeper has a heavy fence.
    [[nodiscard]] COFLUX_INLINE bool take(bool fenced) noexcept {
        // [sleep_word.take.fenced]
        if (fenced) {
            // [sleep_word.take.fence]
            light_fence();                                            // pairs with pass()
            if (word_.load(memory_order_relaxed) == 0) return false;  // ordered by the fence
        }
        // [sleep_word.take.exchange]
        return word_.exchange(0, memory_order_acq_rel) != 0;  // pairs with set()
    }

private:
    // 0: awake. 1: it sleeps, or is about to; set by the sleeper, and taken back by itself or by the waker that wakes
    // it.
    atomic<std::uint32_t> word_{0};
};

}  // namespace coflux::detail
