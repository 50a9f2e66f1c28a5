// A machine of many processors, simulated: the library's threads run on it as they are, one at a time, each with a
// clock of its own, and what passes between its processors is counted.
//
// The page docs/design/many_processors.md has the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>

namespace coflux::machine {

/// Nanoseconds of the machine.
using tick = std::uint64_t;

struct shape {
    unsigned processors = 2;
    unsigned nodes = 1;  ///< sockets, of as many processors each
};

/// Counts of one thread, or of all: the traffic between processors.
struct counts {
    std::uint64_t locked = 0;      ///< instructions with a lock prefix on x86: exchanges, additions, seq_cst stores
    std::uint64_t moved = 0;       ///< cache lines that came from another processor, or were taken from those that read
    std::uint64_t far = 0;         ///< of those, from another node
    std::uint64_t fences = 0;      ///< calls that hold up each running thread: membarrier()
    std::uint64_t interrupts = 0;  ///< threads that such calls held up
    std::uint64_t wakes = 0;       ///< calls that wake a thread
    std::uint64_t sleeps = 0;      ///< calls that put the thread to sleep

    friend counts operator-(counts a, const counts& b) noexcept;
    counts& operator+=(const counts& b) noexcept;
};
std::ostream& operator<<(std::ostream& out, const counts& c);

/// The machine from now on. Pre: only the first thread runs, or others that sleep.
void become(shape s);
[[nodiscard]] shape of_now() noexcept;

/// The time on the calling thread's processor.
[[nodiscard]] tick now() noexcept;
/// The calling thread computes: nothing passes between processors meanwhile.
void compute(tick nanoseconds) noexcept;
/// The counts of the calling thread, and of all threads, since the program began.
[[nodiscard]] counts counted_here() noexcept;
[[nodiscard]] counts counted() noexcept;

// --- for the seam ----------------------------------------------------------------------------------------------------

enum class access : std::uint8_t { read, write, locked };

/// The calling thread is about to touch the object at `address`.
void touch(const void* address, access how) noexcept;
/// Time passes, of which nothing is known but how long it takes.
void pause() noexcept;
void yield() noexcept;
[[nodiscard]] std::uint64_t cycles() noexcept;

/// Makes a thread that runs `body`, and gives its number.
[[nodiscard]] std::size_t make_thread(std::function<void()> body);
/// Waits for its end.
void join_thread(std::size_t number) noexcept;
/// The calling thread is on that processor from now on.
void bind_to(unsigned processor) noexcept;

/// Sleeps until wake() with the same address, or until `deadline`; true if that has passed. ~0: never.
bool sleep_at(const void* address, tick deadline) noexcept;
void wake_at(const void* address, bool all) noexcept;
/// The same without a count: the machine's own locks.
void wait_at(const void* address) noexcept;
void go_on_at(const void* address, bool all) noexcept;
/// Holds up each running thread.
void fence_all() noexcept;

/// The bounds of the calling thread's stack.
struct stack {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};
[[nodiscard]] stack stack_here() noexcept;

}  // namespace coflux::machine
