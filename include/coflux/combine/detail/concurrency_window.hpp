// The children of one for_each_concurrent: which run, which have ended, and how the loop waits for the next end. The
// page docs/design/combine.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory_resource>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/scope/error_policy.hpp>

namespace coflux::detail {

class concurrency_window;

/// The slot of one child; used again when its frame is gone.
struct window_slot : waiter {
    concurrency_window* of = nullptr;
    frame_control* child = nullptr;  ///< the loop's; nullptr in a free slot
    window_slot* next_slot = nullptr;
    window_slot* next_linked = nullptr;  ///< among the free (the loop's) or the ended (under the lock)
};

/// Belongs to the coroutine of the loop, which alone calls it.
class concurrency_window {
    struct all_links {
        static window_slot*& next(window_slot& of) noexcept { return of.next_slot; }
    };
    struct linked_links {
        static window_slot*& next(window_slot& of) noexcept { return of.next_linked; }
    };
    class ends_awaiter;
    using ends_request = request<ends_awaiter, concurrency_window&>;

public:
    /// Errors: std::bad_alloc.
    concurrency_window(promise_base& loop, std::size_t size, error_policy policy);
    concurrency_window(const concurrency_window&) = delete;
    concurrency_window& operator=(const concurrency_window&) = delete;
    /// Pre: no child runs.
    ~concurrency_window();

    [[nodiscard]] bool is_full() const noexcept { return running_ == size_; }
    [[nodiscard]] bool is_empty() const noexcept { return running_ == 0; }
    /// True if no more children are to be begun: one did not end with a value, unless all are collected, or a stop of
    /// the loop was requested.
    [[nodiscard]] bool must_end() noexcept;
    // Once no child runs:
    [[nodiscard]] bool has_failed() const noexcept { return (ends_.load(memory_order_relaxed) & failed) != 0; }
    [[nodiscard]] bool was_stopped() const noexcept { return (ends_.load(memory_order_relaxed) & stopped) != 0; }

    /// Before a child is made: from then on add() cannot fail. Errors: std::bad_alloc.
    void reserve();
    /// Takes over a child. Pre: reserve(), and it is not full.
    void add(frame_control& c) noexcept;
    /// Requests a stop of the running children; once. The awaits of next_ends() do what is left after one step.
    void stop_all() noexcept;
    /// `co_await next_ends()` waits until at least one child has ended, or a stop of the loop is requested, and frees
    /// the ended ones.
    [[nodiscard]] ends_request next_ends() noexcept { return ends_request(*this); }

private:
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept;
    void note(frame_control& c, bool known_to_scope) noexcept;
    [[nodiscard]] bool collect() noexcept;
    static bool stop_next(void* self) noexcept;
    void stop_some() noexcept;

    static constexpr unsigned failed = 1;
    static constexpr unsigned stopped = 2;

    promise_base& loop_;
    std::pmr::memory_resource& memory_;
    const std::size_t size_;
    const error_policy policy_;
    std::size_t running_ = 0;                        // added and not collected
    intrusive_stack<window_slot, all_links> slots_;  // all
    intrusive_stack<window_slot, linked_links> free_;
    bool stop_requested_ =
        false;  // a stop of the loop was requested; while it is parked, written by the claimer of the wait
    bool stopping_ = false;
    window_slot* left_to_stop_ = nullptr;  // while it is `stopping_`: from here on

    // Bits are set by ends, relaxed: the loop looks at them to end early, and after the last end, which the lock
    // orders.
    atomic<unsigned> ends_{0};
    adaptive_lock lock_;                                // guards the two below
    intrusive_stack<window_slot, linked_links> ended_;  // youngest first
    ends_awaiter* parked_ = nullptr;
};

/// The loop parked. A stop request claims it and wakes it; the loop itself then stops its children and waits for their
/// ends.
class [[nodiscard]] concurrency_window::ends_awaiter : public wait_operation {
public:
    // An await of the library's own loop, whose location stays that of its caller.
    using never_throws = void;
    using keeps_location = void;

    explicit ends_awaiter(concurrency_window& of) noexcept : wait_operation(of.loop_, kind), of_(of) {}

    [[nodiscard]] bool await_ready() const noexcept { return of_.collect() && of_.left_to_stop_ == nullptr; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept;
    void await_resume() noexcept {
        resumed();
        of_.stop_some();
        (void)of_.collect();
    }

private:
    friend class concurrency_window;
    static bool claim(wait_operation& waiting) noexcept;
    static void stop(wait_operation& claimed) noexcept;
    static constexpr wait_kind kind{&claim, &stop, "the end of a call of for_each_concurrent"};

    concurrency_window& of_;
};

}  // namespace coflux::detail
