// How a thread that has waited for long gives free blocks of the frame pool back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail {

/// Whether the caller has something else to do. Asked before each step of some microseconds. Used while what it refers
/// to lives.
class idle_question {
public:
    template <typename F>
    explicit idle_question(const F& ask) noexcept
        : of_(&ask),
          ask_([](const void* of) { return (*static_cast<const F*>(of))(); }) {}
    [[nodiscard]] bool operator()() const { return ask_(of_); }

private:
    const void* of_;
    bool (*ask_)(const void*);
};

/// The calling thread's lists go back to their slabs, and empty slabs to the heap; their pages to the system before,
/// while it is not interrupted.
void give_back_lists(const idle_question& interrupted) noexcept;
/// So does a chain of the reserve: of the class, or of the next one that has some, which is then the class. False if
/// there is none.
bool give_back_chain(std::size_t& size_class, const idle_question& interrupted) noexcept;

/// In nanoseconds, of a thread whose pool has work: meanwhile it serves nothing.
inline constexpr std::uint64_t longest_give_back = 100'000;

/// One thread's sight of the blocks that are kept for the next burst.
class idle_memory {
public:
    /// From now on it is of interest whether threads use the reserve.
    void begin() noexcept;
    /// The thread waits, and `idle` says whether its pool has nothing to do. Gives back the thread's lists; if the pool
    /// is idle, that and the reserve of all threads, or neither where a thread has used the reserve since begin(). Ends
    /// early when `interrupted()`. True if something is left that is worth a later try.
    template <typename F>
    bool give_back(bool idle, const F& interrupted) noexcept {
        const idle_question ask(interrupted);
        if (!idle) return give_back_lists(ask), true;
        if (reserve_was_used()) return true;
        give_back_lists(ask);
        for (std::size_t size_class = 0; !interrupted();) {
            if (reserve_was_used()) return true;
            if (!give_back_chain(size_class, ask)) return false;
        }
        return true;
    }

private:
    [[nodiscard]] bool reserve_was_used() const noexcept;

    std::uint64_t used_ = 0;  // how often threads had used the reserve at begin()
};

}  // namespace coflux::detail
