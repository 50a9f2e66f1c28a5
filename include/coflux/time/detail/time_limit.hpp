// A timer that requests a stop: what timeouts and the deadlines of environments have in common.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/time/detail/timer_queue.hpp>

namespace coflux::detail {

/// Requests a stop of an environment at a moment, unless that has ended before. It lives on its own, not in a
/// coroutine: it may still be requesting the stop when the coroutine that it limits has ended.
///
/// Shapes: the code that armed it ends it, once: by over() that returns `in_time`, by cancel(), or by free().
class time_limit : private timer {
public:
    enum class verdict : std::uint8_t {
        in_time,  ///< it did not act and will not; it is gone
        late,     ///< it has requested the stop, and is done with the target; free() it
        acting,   ///< it is requesting the stop at this moment; the coroutine is resumed when it is done, and frees it
    };

    /// Arms one for `target`: with this thread's timers if they serve coroutines on `executor`, else with the service.
    /// Errors: std::bad_alloc, std::system_error as sleep_for(); then nothing has happened.
    [[nodiscard]] static time_limit* arm(environment& target, clock_tick deadline, const executor_entry* executor);

    /// The limited operation has ended; `awaiting` is suspended, and is resumed by the code that made it end, unless
    /// the verdict is `acting`.
    /// Threads: any, once.
    [[nodiscard]] verdict over(promise_base& awaiting) noexcept;
    /// Ends the limit for a caller that cannot be suspended: waits until the limit is done with the target; then it is
    /// gone.
    void cancel() noexcept;
    /// After `late` or `acting`, and once the coroutine runs.
    void free() noexcept;

private:
    explicit time_limit(environment& target) noexcept : timer(how_it_ends), target_(target) {}

    [[nodiscard]] bool try_disarm() noexcept;
    static void come_due(timer& t) noexcept;
    static const environment& whose(const timer& t) noexcept;
    static const timer_kind how_it_ends;

    /// Once the deadline has come before the end (the lock of the queue decides), both parties meet here: 0, then each
    /// sets its bit; the second one resumes the coroutine. `ended` is set by over() only: the caller of cancel() frees
    /// the limit when it sees `requested`. acq_rel on both sides: the second sees what the first did, and neither
    /// touches the target any more.
    enum : std::uint32_t { requested = 1, ended = 2 };

    environment& target_;
    promise_base* awaiting_ = nullptr;  // set before `ended`
    atomic<std::uint32_t> met_{0};
};

}  // namespace coflux::detail
