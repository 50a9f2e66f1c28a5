// A step has an end: an await that need not suspend spends the tick budget, and at the end of a round it lets others
// run.
//
// The page docs/design/thread_pool.md has the rule (The tick budget).
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// So many awaits that need not suspend are a step.
inline constexpr std::int32_t ready_awaits_in_a_step = 32;
/// How many are left of the step that the thread is in, before the last one.
COFLUX_SHARED inline constinit thread_local std::int32_t ready_awaits_left = ready_awaits_in_a_step - 1;

/// goes_on() after the last await of a step.
COFLUX_ASIDE bool goes_on_aside() noexcept;

/// The answer of await_ready for an operation that is done. False: the round is over, so await_suspend returns
/// let_others_run(). The result waits in the awaiter meanwhile.
[[nodiscard]] COFLUX_INLINE bool goes_on() noexcept {
    // Unsigned, so that a compiler may decrement in memory and look at the sign.
    ready_awaits_left = static_cast<std::int32_t>(static_cast<std::uint32_t>(ready_awaits_left) - 1);
    return ready_awaits_left >= 0 || goes_on_aside();
}

std::coroutine_handle<> suspend_elsewhere(promise_base& p, std::coroutine_handle<> h) noexcept;

/// Queues `p`, by the handle `h`, behind the coroutines that are ready: what await_suspend returns. After
/// begin_suspend().
/// Pre: an executor runs `p`.
template <bool Yields = false>
COFLUX_INLINE std::coroutine_handle<> suspend_behind_ready(promise_base& p, std::coroutine_handle<> h) noexcept {
    worker* const w = this_thread.queues;
    if (w == nullptr || w->executor() != p.runs_on()->identity) [[unlikely]]
        return suspend_elsewhere(p, h);
    // The coroutine below on this stack goes on: a creator, or an awaiter.
    const bool inside_creator = this_thread.below != nullptr || this_thread.nested_limit >= nested_closed;
    promise_base::clear_current();
    if constexpr (Yields) {
        w->note_yield();
        w->push_ready(h);
    } else {
        w->push_ready_for_itself(h);
    }
    return inside_creator ? no_coroutine() : transfer(w->next_ready());
}

/// goes_on() said no: what await_suspend returns. This is no stop point, because the operation is done. await_resume
/// makes the coroutine current again.
std::coroutine_handle<> let_others_run(promise_base& p) noexcept;

/// A frame that is resumed in place of a coroutine that lets others run before it tries its operation.
struct turn_frame : proxy_frame {
    using step = void (*)(turn_frame& self) noexcept;

    /// `then` goes on with the operation, on the coroutine's executor. This object may be gone then.
    turn_frame(promise_base& p, step then) noexcept
        : proxy_frame{&turn_frame::come, &turn_frame::come, &p, nullptr},
          tries(then) {}
    [[nodiscard]] std::coroutine_handle<> handle() noexcept {
        return std::coroutine_handle<>::from_address(static_cast<proxy_frame*>(this));
    }
    /// The coroutine that `h` is resumed for: `h` itself, unless it is one of these.
    [[nodiscard]] static std::coroutine_handle<> coroutine_of(std::coroutine_handle<> h) noexcept;

    const step tries;

private:
    static void come(void* frame);
};

class [[nodiscard]] turn_awaiter {
public:
    explicit turn_awaiter(promise_base& p) noexcept : p_(p) {}
    [[nodiscard]] bool await_ready() const noexcept { return goes_on(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return let_others_run(p_); }
    void await_resume() const noexcept { this_thread.current = &p_; }

    using never_throws = void;
    using keeps_location = void;

private:
    promise_base& p_;
};

/// `co_await turn()` in a call that may end without another await: it is an await that need not suspend.
[[nodiscard("co_await it")]] constexpr request<turn_awaiter> turn() noexcept {
    return {};
}

}  // namespace coflux::detail
