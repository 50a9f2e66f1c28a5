// A profile by coroutine: where the time on the processor goes, and where coroutines wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coflux::inspect {

/// Time that was spent in one chain of coroutines.
struct profile_stack {
    /// `f at file:line`, each at its last await: the outermost coroutine first. Behind them, of a wait, what it is for.
    std::vector<std::string> frames;
    std::chrono::nanoseconds time{0};
    std::uint64_t count = 0;  ///< how many samples or coroutines it was found in
};

struct profile_result {
    /// Time on the processor of the threads that serve executors, longest first.
    std::vector<profile_stack> processor;
    /// Time of coroutines that waited, or were queued, longest first. A thousand that wait for a second are a thousand
    /// seconds.
    std::vector<profile_stack> waits;
    std::chrono::nanoseconds lasted{0};
    std::uint64_t looks = 0;   ///< at all coroutines: `waits` is of so many moments
    std::uint64_t lost = 0;    ///< samples that had no room, and are not in `processor`
    std::size_t left_out = 0;  ///< threads for which the system had no timer
};

struct profile_options {
    unsigned frequency = 100;  ///< samples of each thread in a second of its time on the processor: from 1 to 1000
};

/// Makes a profile while it lives, of all that the program does.
///
/// Shapes: one of a process at a time. Linux.
/// Errors: std::system_error where there is another one, where the program has handlers for all signals, or where the
/// system does not let the process read its own memory.
/// Threads: any.
/// Costs: a signal to each thread that serves an executor, for each 10 ms of its time on the processor. A sleep or a
/// poll() of user code that begins at that moment may end early, as with any signal. Looks at all coroutines, at most
/// ten a second, on a thread of its own, which takes half a percent of a processor for them. Nothing while there is
/// none.
/// Example: examples/71_profile.cpp
class profiler {
public:
    explicit profiler(const profile_options& options = {});
    ~profiler();
    profiler(const profiler&) = delete;
    profiler& operator=(const profiler&) = delete;

    /// Ends the profile. Looks once more before.
    /// Errors: std::bad_alloc.
    /// Pre: it is called once.
    [[nodiscard]] profile_result stop();

private:
    class recording;
    std::unique_ptr<recording> recording_;
};

/// A profile of so long, in which the calling thread sleeps.
/// Errors: as profiler.
[[nodiscard]] profile_result profile(std::chrono::nanoseconds during, const profile_options& options = {});

/// A line for each: frames with semicolons between them, a space, and the microseconds. flamegraph.pl, inferno and
/// speedscope read it.
/// Errors: std::bad_alloc.
[[nodiscard]] std::string folded(const std::vector<profile_stack>& stacks);

}  // namespace coflux::inspect
