// What a thread that has waited for long gives back of the frame pool's free blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail {

/// The calling thread's lists go back to their slabs.
void give_back_lists() noexcept;
/// So does a chain of the reserve: of the class, or of the next one that has some, which is then the class. False if
/// there is none.
bool give_back_chain(std::size_t& size_class) noexcept;

/// What one thread sees of the blocks that are kept for the next burst.
class idle_memory {
public:
    /// From now on it is of interest whether threads use the reserve.
    void begin() noexcept;
    /// The thread waits, and `idle` says whether its pool has nothing to do. Gives back the thread's lists; if the pool
    /// is idle, that and the reserve of all threads, or neither where a thread has used the reserve since begin(). Ends
    /// early when `interrupted()`, which is asked before each chain. True if something is left that is worth a later
    /// try.
    template <typename F>
    bool give_back(bool idle, F interrupted) noexcept {
        if (!idle) return give_back_lists(), true;
        if (reserve_was_used()) return true;
        give_back_lists();
        for (std::size_t size_class = 0; !interrupted();) {
            if (reserve_was_used()) return true;
            if (!give_back_chain(size_class)) return false;
        }
        return true;
    }

private:
    [[nodiscard]] bool reserve_was_used() const noexcept;

    std::uint64_t used_ = 0;  // how often threads had used the reserve at begin()
};

}  // namespace coflux::detail
