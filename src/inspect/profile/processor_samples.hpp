// Samples of the threads that serve executors, by their time on the processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <coflux/base/atomic.hpp>

#include "core/detail/thread/registered_thread.hpp"
#include "inspect/profile/sample_ring.hpp"
#include "inspect/profile/stacks.hpp"
#include "os/thread/processor_sampling.hpp"

namespace coflux::detail {

/// Threads: one at a time.
class processor_samples {
public:
    /// `period`: nanoseconds. Errors: std::system_error, std::bad_alloc.
    explicit processor_samples(std::uint64_t period);

    /// Samples threads that have begun since it was asked last. Errors: std::bad_alloc.
    void find_threads();
    /// Takes what was sampled since it was asked last. Errors: std::bad_alloc.
    void take_all(frame_names& names, stack_times& into);
    /// Samples for which there was no room.
    [[nodiscard]] std::uint64_t lost() const noexcept;
    /// Threads for which there was no timer.
    [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

private:
    struct sampled_thread {
        explicit sampled_thread(const thread_state* of) noexcept : state(of) {}

        const thread_state* state;
        processor_sample_ring ring;
    };
    /// While a profile is made, ones that have ended counted.
    static constexpr std::size_t most_threads = 4 * most_registered_threads;

    static void take(void* self, std::uint32_t index, std::uint32_t periods) noexcept;

    const std::uint64_t period_;
    std::array<std::uint64_t, most_registered_threads> seen_{};  // the number of the thread at each place
    std::vector<std::unique_ptr<sampled_thread>> threads_;
    std::array<atomic<sampled_thread*>, most_threads> for_handlers_{};  // by index; set once, before its timer is made
    std::size_t left_out_ = 0;
    os::processor_sampling sampling_;  // the last: its handlers use the others
};

}  // namespace coflux::detail
