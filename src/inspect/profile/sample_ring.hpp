// Samples of one thread: its handler of a signal adds, and the profile's thread takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail {

/// Threads: one adds, another one takes. A signal handler that adds blocks all signals, so it is not interrupted by
/// itself.
template <typename Sample, std::uint32_t Size>
class sample_ring {
    static_assert((Size & (Size - 1)) == 0, "the counts of samples wrap");

public:
    /// Calls `fill(Sample&)`, unless there is no room: then so many periods are lost.
    template <typename F>
    void add(std::uint32_t periods, F fill) noexcept {
        const std::uint32_t next = added_.load(memory_order_relaxed);
        // [profile.ring.full]
        if (next - taken_.load(memory_order_acquire) == Size) {  // pairs with take_all(), which has read the cell
            lost_.store(lost_.load(memory_order_relaxed) + periods, memory_order_relaxed);
            return;
        }
        fill(cells_[next % Size]);
        // [profile.ring.added]
        added_.store(next + 1, memory_order_release);  // pairs with take_all()
    }

    /// Calls `take(const Sample&)` for each, oldest first. Errors: what `take` throws; that sample stays.
    template <typename F>
    void take_all(F take) {
        // [profile.ring.end]
        const std::uint32_t end = added_.load(memory_order_acquire);  // pairs with add()
        for (std::uint32_t i = taken_.load(memory_order_relaxed); i != end; ++i) {
            take(static_cast<const Sample&>(cells_[i % Size]));
            // [profile.ring.taken]
            taken_.store(i + 1, memory_order_release);  // pairs with add()
        }
    }
    /// Periods of all samples for which there was no room.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(memory_order_relaxed); }

private:
    // Each written by one side: how many samples there were, and how many of them are taken. Both wrap.
    atomic<std::uint32_t> added_{0};
    atomic<std::uint32_t> taken_{0};
    atomic<std::uint64_t> lost_{0};
    std::array<Sample, Size> cells_;  // without a value until they are added: then no memory is touched
};

/// Where a thread was.
struct processor_sample {
    static constexpr std::size_t deepest = 64;

    std::uint32_t periods;  ///< that it has used since the sample before
    std::uint32_t depth;    ///< of the chain; deepest + 1: there are more
    std::array<std::uint64_t, deepest + 1> places;
};
using processor_sample_ring = sample_ring<processor_sample, 256>;

}  // namespace coflux::detail
