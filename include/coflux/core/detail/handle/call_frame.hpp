// The frame that a call owns, and how the call is awaited.
#pragma once

#include <coroutine>
#include <cstdint>
#include <source_location>

#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/handle/late_awaiter.hpp>
#include <coflux/core/detail/join/await_frame.hpp>
#include <coflux/core/detail/promise/result.hpp>

namespace coflux::detail {

/// `p` awaits it where it is made.
[[noreturn]] COFLUX_COLD void fail_awaited_twice(promise_base& p) noexcept;

/// The frame that a call owns, and the call as awaiter: what the compiler and the library call, not users.
template <typename T>
class COFLUX_IN_REGISTER call_frame {
    static_assert(is_result<T>());

public:
    using single_use = void;

    COFLUX_INLINE explicit call_frame(frame_control& c) noexcept : control_(&c) {}
    call_frame(call_frame&&) = delete;
    call_frame& operator=(call_frame&&) = delete;
    COFLUX_INLINE ~call_frame() {
        if (control_.empty()) [[likely]]
            return;
        if (!control_.waited()) [[likely]] {
            promise_base::free_plainly(*control_.plain());
        } else {
            promise_base::discard_ended(*control_.get());
        }
    }

    COFLUX_INLINE decltype(auto) await_in(promise_base& p, std::source_location) && noexcept {
        if (control_.empty() || control_.waited()) [[unlikely]]
            fail_awaited_twice(p);
        // One that frees its frame has left the handle empty, or marked.
        if constexpr (frame_after_nested_run == nested_frame::kept) {
            if (control_.plain()->frame().done()) [[unlikely]]
                fail_awaited_twice(p);
        }
        if (p.run_call_nested<frame_after_nested_run>(control_.plain())) [[likely]] {
            if constexpr (frame_after_nested_run == nested_frame::freed) {
                control_.clear();
            } else {
                control_.assume_not_waited();
            }
        } else {
            control_.set_waited();
        }
        return begun_awaiter<T>(*this);
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept {
        return ended_in_place() || control_.get()->is_ready();
    }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        // relaxed: a call that has begun is not `detached`, whatever else happens to it.
        frame_control& callee = *control_.get();
        promise_base& caller = *h.promise().rematerialized_this();
        if (callee.join.own().is_detached()) return begin(caller);
        return caller.await_begun(callee);
    }
    COFLUX_INLINE T await_resume() {
        return take([]() noexcept { return thread_result; });
    }
    /// `result()`: what went by the thread, if it ended in place and has no frame any more.
    template <typename Result>
    COFLUX_INLINE T take([[maybe_unused]] Result result) {
        if (!ended_in_place()) [[unlikely]]
            return take_aside(*control_.get());
        if constexpr (frame_after_nested_run == nested_frame::freed) {
            return take_from<T>(result());
        } else {
            return take_value<T>(*control_.plain());
        }
    }

    class outcome_awaiter {
    public:
        outcome_awaiter(promise_base& caller, call_frame& of) noexcept : caller_(caller), of_(of) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
            caller_.control().word.set(frame_flags::takes_stop);
            return of_.begin(caller_);
        }
        outcome<T> await_resume() const {
            this_thread.current = &caller_;
            caller_.control().word.clear(frame_flags::takes_stop);
            return outcome_of<T>(*of_.control_.get());
        }

    private:
        promise_base& caller_;
        call_frame& of_;
    };
    /// For awaiters that make it once `p` is suspended: begins it, and returns what await_suspend must return.
    std::coroutine_handle<> begin_for(promise_base& p) noexcept {
        control_.set_waited();
        return begin(p);
    }
    /// For combinators, before it begins: where a coroutine is made that runs it for `p`.
    [[nodiscard]] environment& home(promise_base& p) const noexcept {
        return promise_base::of(*control_.get()).home(p);
    }
    outcome_awaiter await_outcome_in(promise_base& p, std::source_location) && noexcept {
        control_.set_waited();
        return outcome_awaiter(p, *this);
    }

    /// The error that it ended with, or nullptr. Pre: it has ended. The library alone calls it.
    [[nodiscard]] const failure* error() const noexcept {
        const frame_control& c = *control_.get();
        return c.word.end() == ending::error ? c.error : nullptr;
    }

private:
    COFLUX_INLINE std::coroutine_handle<> begin(promise_base& caller) noexcept {
        if (caller.begin_suspend() == suspension::stop) [[unlikely]]
            return caller.stop_here();
        frame_control& callee = *control_.get();
        if (callee.frame().done()) [[unlikely]]
            fail_awaited_twice(caller);
        promise_base::of(callee).begin_as_part_of(caller);
        // Only the caller knows the callee: no atomic store.
        callee.join.begin_awaited_by(caller);
        return transfer(callee.frame());
    }
    static constexpr nested_frame frame_after_nested_run = nested_frame_for<T>;

    [[nodiscard]] COFLUX_INLINE bool ended_in_place() const noexcept {
        // Each a form that the optimiser follows from where it ran to where its result is taken.
        return frame_after_nested_run == nested_frame::freed ? control_.empty() : !control_.waited();
    }
    /// Out of line, so that a caller that never comes here saves no registers for it.
    static COFLUX_NOINLINE T take_aside(frame_control& callee) {
        // Its state still names the caller, unless that never suspended, and is current.
        const join_snapshot own = callee.join.own();
        if (own.is_in_plain_await()) [[likely]]
            this_thread.current = own.coroutine();
        if (!callee.word.ended_with_value()) [[unlikely]]
            throw_error(callee);
        return take_value<T>(callee);
    }
    [[noreturn]] COFLUX_COLD static void throw_error(frame_control& callee) {
        callee.error->retain();
        callee.error->rethrow();
    }

protected:
    call_frame(const call_frame&) noexcept = default;  // never used: see call

private:
    awaited_frame control_;
};

}  // namespace coflux::detail
