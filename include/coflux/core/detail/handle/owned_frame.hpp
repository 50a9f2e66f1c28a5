// The frame that a fork or a task owns, and how the handle is awaited.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>
#include <utility>

#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/handle/late_awaiter.hpp>
#include <coflux/core/detail/join/await_frame.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>
#include <coflux/core/detail/promise/result.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>

namespace coflux::detail {

/// An await of a fork or task as an outcome: error and stop are values.
template <typename Handle, typename T>
class [[nodiscard]] owned_outcome_awaiter {
public:
    owned_outcome_awaiter(promise_base& p, Handle& handle) noexcept : p_(p), handle_(handle) {}

    [[nodiscard]] bool await_ready() const noexcept { return handle_.used().done(); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        p_.control().word.set(frame_flags::takes_stop);
        try {
            if (!is_stopped_with(p_, handle_.used())) [[unlikely]]
                return await_relayed(p_, handle_.used());
            return handle_.await_suspend(h);
        } catch (...) {  // no memory for a node in the list of a shared frame; the handle keeps the frame
            unavailable_ = std::current_exception();
            return transfer(h);
        }
    }
    outcome<T> await_resume() noexcept {
        this_thread.current = &p_;
        p_.control().word.clear(frame_flags::takes_stop);
        if (unavailable_ != nullptr) [[unlikely]] {
            handle_.assume_not_waited();
            return outcome<T>(std::move(unavailable_));
        }
        return consume_outcome<T>(handle_.release());
    }

private:
    promise_base& p_;
    Handle& handle_;
    std::exception_ptr unavailable_;
};

[[noreturn]] COFLUX_COLD void fail_empty() noexcept;
/// Fails for a handle that is empty in an await.
[[noreturn]] COFLUX_COLD void fail_empty(promise_base& p, std::source_location where) noexcept;

/// The frame that a handle owns, and the handle as awaiter: what the compiler and the library call, not users.
template <typename T, start_kind Start>
class COFLUX_IN_REGISTER owned_frame {
    static_assert(is_result<T>());

    static constexpr bool starts_in_creator = Start == start_kind::inline_start;

public:
    /// One that may run inside the call that makes it, and does not know until then, keeps its frame.
    static constexpr nested_frame frame_after_nested_run =
        Start == start_kind::queued ? nested_frame_for<T> : nested_frame::kept;
    using single_use = void;

    owned_frame() noexcept : control_(nullptr) {}
    COFLUX_INLINE explicit owned_frame(frame_control& c) noexcept : control_(&c) {}
    // Emptied last, so that the optimiser sees it when `other` dies at once.
    owned_frame(owned_frame&& other) noexcept : control_(other.control_.get()) { other.control_.clear(); }
    owned_frame(const owned_frame&) = delete;
    owned_frame& operator=(const owned_frame&) = delete;

    COFLUX_INLINE decltype(auto) await_in(promise_base& p, std::source_location where) && noexcept {
        if (control_.empty()) [[unlikely]]
            fail_empty(p, where);
        note_taken_over(used());
        if constexpr (!starts_in_creator) {
            if (p.run_fork_nested<frame_after_nested_run>(control_.plain())) {
                if constexpr (frame_after_nested_run == nested_frame::freed) {
                    control_.clear();
                } else {
                    control_.assume_not_waited();
                }
            } else {
                control_.set_waited();
            }
        }
        return begun_awaiter<T>(*this);
    }
    owned_outcome_awaiter<owned_frame, T> await_outcome_in(promise_base& p, std::source_location where) && noexcept {
        if (control_.empty()) fail_empty(p, where);
        note_taken_over(used());
        control_.set_waited();
        return owned_outcome_awaiter<owned_frame, T>(p, *this);
    }

    // The handle as awaiter. It keeps the frame until the coroutine resumes.
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return ended_in_place() || awaited().is_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        promise_base& p = *h.promise().rematerialized_this();
        // One look for all that is rare: views or callbacks, and a child of another environment, which a stop may not
        // reach.
        if (!promise_base::of(used()).is_unshared_child_of(p)) [[unlikely]] {
            waited_guard guard(control_);
            const std::coroutine_handle<> next = await_aside(p, used());
            guard.dismiss();
            return next;
        }
        return p.await_child(used());
    }
    COFLUX_INLINE T await_resume() {
        return take([]() noexcept { return thread_result; });
    }
    /// `result()`: what went by the thread, if it ended in place and has no frame any more.
    template <typename Result>
    COFLUX_INLINE T take([[maybe_unused]] Result result) {
        if (ended_in_place()) {
            if constexpr (frame_after_nested_run == nested_frame::freed) {
                return take_from<T>(result());
            } else {
                const plainly_freed_frame frees(control_);
                return take_value<T>(*control_.plain());
            }
        }
        if constexpr (starts_in_creator) {
            // Emptied last: the optimiser then knows that there is nothing left to drop.
            const emptied_frame empties(control_);
            return consume_waited(awaited());
        } else {
            return consume_aside(release());
        }
    }

    /// For combinators: gives the frame up to the caller.
    [[nodiscard]] COFLUX_INLINE frame_control& release() noexcept { return *control_.take(); }
    /// For combinators: the frame, which was nested, has freed itself.
    COFLUX_INLINE void clear() noexcept { control_.clear(); }
    /// For combinators and awaiters: the frame, which the handle keeps.
    [[nodiscard]] COFLUX_INLINE frame_control& used() const noexcept { return *frame(); }
    /// For combinators and awaiters: the frame, or null.
    [[nodiscard]] COFLUX_INLINE frame_control* frame() const noexcept { return control_.get(); }
    /// For combinators: where the frame is or close to it, to be fetched into the cache.
    [[nodiscard]] COFLUX_INLINE const void* address() const noexcept { return control_.plain(); }
    /// For awaiters: the await threw, and nothing has happened.
    void assume_not_waited() noexcept { control_.clear_waited(); }
    /// For combinators and awaiters: used(), where the user may be wrong.
    [[nodiscard]] COFLUX_INLINE frame_control& checked() const noexcept {
        if (control_.empty()) [[unlikely]]
            fail_empty();
        return used();
    }

    [[nodiscard]] COFLUX_INLINE bool is_empty() const noexcept { return control_.empty(); }
    void swap(owned_frame& other) noexcept { control_.swap(other.control_); }

protected:
    ~owned_frame() = default;

private:
    /// In a plain await, which marks no handle of a coroutine that begins in the call that makes it.
    [[nodiscard]] COFLUX_INLINE frame_control& awaited() const noexcept {
        if constexpr (starts_in_creator) {
            return *control_.plain();
        } else {
            return used();
        }
    }
    /// Out of line, so that a caller that never comes here saves no registers for it.
    static COFLUX_NOINLINE T consume_aside(frame_control& c) { return consume_waited(c); }
    static COFLUX_INLINE T consume_waited(frame_control& c) {
        const join_snapshot own = c.join.own();
        // The awaiting coroutine still is where it waited; if it never suspended, it still is current.
        if (!own.has_no_coroutine()) {
            if (own.is_shared()) [[unlikely]]
                return consume<T>(c);
            this_thread.current = own.coroutine();
        }
        if (!c.word.ended_with_value()) [[unlikely]]
            return consume<T>(c);
        const destroyed_frame frees(c);
        return take_value<T>(c);
    }
    /// In an await: the frame ran to its end nested on the awaiting coroutine's stack.
    [[nodiscard]] COFLUX_INLINE bool ended_in_place() const noexcept {
        if constexpr (starts_in_creator) {
            return false;
        } else if constexpr (frame_after_nested_run == nested_frame::freed) {
            return control_.empty();
        } else {
            return !control_.waited();
        }
    }

    awaited_frame control_;
};

}  // namespace coflux::detail
