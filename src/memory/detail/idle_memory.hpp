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
    /// The thread begins to wait.
    void begin() noexcept;
    /// It still waits, and `idle` says whether its pool has nothing to do: gives back the thread's lists and then, if it
    /// is, the reserve of all threads, unless a thread has used that since begin(). Ends early when `interrupted()`,
    /// which is asked before each chain. True if something is left that is worth a later try.
    template <typename F>
    bool give_back(bool idle, F interrupted) noexcept {
        give_back_lists();
        if (!idle) return true;
        for (std::size_t size_class = 0; !reserve_was_used();) {
            if (interrupted()) return true;
            if (!give_back_chain(size_class)) return false;
        }
        begin();
        return true;
    }

private:
    [[nodiscard]] bool reserve_was_used() const noexcept;

    std::uint64_t used_ = 0;  // how often threads had used the reserve at begin()
};

}  // namespace coflux::detail
