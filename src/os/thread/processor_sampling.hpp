// Calls that come to threads with their time on the processor.
#pragma once

#include <cstdint>
#include <vector>

namespace coflux::detail::os {

/// While it lives, a function is called on each thread that was added, after each period of processor time of it. One
/// of a process at a time.
///
/// Threads: one makes it, adds to it and ends it.
class processor_sampling {
public:
    /// Called in the handler of a signal, which blocks all others: it takes no lock, allocates nothing, and leaves
    /// errno as it likes. `index`: which thread was added; `periods`: how many have passed since the call before.
    using function = void (*)(void* context, std::uint32_t index, std::uint32_t periods) noexcept;

    /// `period`: nanoseconds. Errors: std::system_error where there is another one, or no signal for it.
    processor_sampling(std::uint64_t period, function take, void* context);
    /// No call runs when it has returned.
    ~processor_sampling();
    processor_sampling(const processor_sampling&) = delete;
    processor_sampling& operator=(const processor_sampling&) = delete;

    /// `thread`: as this_thread_number(). False: it is not there, or the system has no timer for it.
    /// Errors: std::bad_alloc.
    [[nodiscard]] bool add(std::uint64_t thread, std::uint32_t index);

private:
    struct handler;

    const std::uint64_t period_;
    const function take_;
    void* const context_;
    int signal_ = 0;
    std::uint32_t generation_ = 0;  // tells its timers from those of the ones before
    std::vector<void*> timers_;     // each a timer_t
};

}  // namespace coflux::detail::os
