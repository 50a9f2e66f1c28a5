// call: an async function call, run inline as part of its caller.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/frame/frame_allocation.hpp>
#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/join/await_frame.hpp>
#include <coflux/core/detail/promise/await_transform.hpp>
#include <coflux/core/detail/promise/result.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

/// `p` awaits it where it is made.
[[noreturn]] COFLUX_COLD void fail_awaited_twice(promise_base& p) noexcept;

template <typename T, typename... Args>
class call_promise final : public typed_promise<T> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE explicit call_promise(COFLUX_ARGUMENT(Args, Given) & ... args) noexcept
        : typed_promise<T>(find_environment(args...)) {}
    COFLUX_INLINE ~call_promise() {
        if constexpr (!ends_trivially<T, Args...>) this->end_scope();
    }
    call_promise(const call_promise&) = delete;
    call_promise& operator=(const call_promise&) = delete;

    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame<ends_trivially<T, Args...>>(guess_frame_shape(size), find_environment(args...),
                                                          counting::none);
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame<ends_trivially<T, Args...>>(frame_shape_of(size, alignment), find_environment(args...),
                                                          counting::none);
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size) noexcept {
        pass_result_on<T, Args...>(frame);
        deallocate_frame(frame, guess_frame_shape(size));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size, std::align_val_t alignment) noexcept {
        pass_result_on<T, Args...>(frame);
        deallocate_frame(frame, frame_shape_of(size, alignment));
    }

    COFLUX_INLINE call<T> get_return_object() noexcept {
        check_environment<Args...>();
        return call<T>(this->control());
    }

    template <typename A>
    COFLUX_INLINE decltype(auto) await_transform(A&& awaited,
                                                 std::source_location where = std::source_location::current()) {
        if constexpr (is_context_request<A>) this->set_await_location(where);
        return bind_await(*this, std::forward<A>(awaited), where);
    }

    /// Lazy. Until it asks for its context it runs on behalf of its caller: it leaves the caller's current() alone.
    COFLUX_INLINE std::suspend_always initial_suspend() const noexcept { return {}; }
    COFLUX_INLINE end_awaiter<ending_kind::call> final_suspend() noexcept {
        return end_awaiter<ending_kind::call>(frees_itself<T, Args...>(*this));
    }
};

}  // namespace detail

/// An async function call: begins when it is awaited and runs inline as part of its caller, on the caller's executor.
///
/// Shapes: `T` is an object type, a reference or void. Parameters may be references: the caller is suspended meanwhile.
/// Neither movable nor storable: it is awaited in the expression that makes it.
/// Returns: `co_await f(here, …)` gives T or throws.
/// Resumes: the caller, which only suspends if the call does, or if the worker's stack has no room for the call.
/// Errors: std::bad_alloc from the call, without effect.
/// Stops: the await is a stop point and loses nothing; a callee that was stopped stops its caller, unless as_outcome()
/// asks.
/// Threads: the caller's.
/// Costs: one frame; no atomic read-modify-write.
/// Lifetime: its parameters die with it, when it ends or, if it has waited, with the expression that awaits it.
template <typename T>
class COFLUX_IN_REGISTER [[nodiscard("a call that is not awaited never begins: co_await it")]] call {
    static_assert(detail::is_result<T>());

public:
    using single_use = void;

    call(call&&) = delete;
    call& operator=(call&&) = delete;
    COFLUX_INLINE ~call() {
        if (control_.empty()) [[likely]]
            return;
        if (!control_.waited()) [[likely]] {
            detail::promise_base::free_plainly(*control_.plain());
        } else {
            detail::promise_base::discard_ended(*control_.get());
        }
    }

    /// For g++ 12, as of a fork (owned_awaiter); elsewhere the call is its own awaiter.
    class awaiter {
    public:
        COFLUX_INLINE explicit awaiter(call& of) noexcept : of_(of), result_(detail::thread_result) {}
        [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return of_.await_ready(); }
        template <typename P>
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
            h.promise().clear_takes_stop();
            return of_.await_suspend(h);
        }
        COFLUX_INLINE T await_resume() const {
            return of_.take([this]() noexcept { return result_; });
        }

    private:
        call& of_;
        std::uint64_t result_;
    };
    COFLUX_INLINE decltype(auto) await_in(detail::promise_base& p, std::source_location where) && noexcept {
        p.set_await_location(where);
        if (control_.empty() || control_.waited() || control_.plain()->frame().done()) [[unlikely]]
            fail_used(p, where);
        if (p.run_call_nested<frame_on_top>(control_.plain())) [[likely]] {
            if constexpr (frame_on_top == detail::nested_frame::freed) {
                control_.clear();
            } else {
                control_.assume_not_waited();
            }
        } else {
            control_.waits();
        }
        if constexpr (COFLUX_CLANG) {
            return static_cast<call&>(*this);
        } else {
            return awaiter(*this);
        }
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept {
        return ended_in_place() || control_.get()->is_ready();
    }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        // relaxed: a call that has begun is not `detached`, whatever else happens to it.
        detail::frame_control& callee = *control_.get();
        detail::promise_base& caller = *h.promise().rematerialized_this();
        if (callee.join.own().is_detached()) return begin(caller);
        return caller.await_begun(callee);
    }
    COFLUX_INLINE T await_resume() {
        return take([]() noexcept { return detail::thread_result; });
    }

    class outcome_awaiter {
    public:
        outcome_awaiter(detail::promise_base& caller, call& of) noexcept : caller_(caller), of_(of) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
            caller_.control().word.set(detail::frame_flags::takes_stop);
            return of_.begin(caller_);
        }
        outcome<T> await_resume() const {
            detail::this_thread.current = &caller_;
            caller_.control().word.clear(detail::frame_flags::takes_stop);
            return detail::outcome_of<T>(*of_.control_.get());
        }

    private:
        detail::promise_base& caller_;
        call& of_;
    };
    /// For awaiters that make it once `p` is suspended: begins it, and returns what await_suspend must return.
    std::coroutine_handle<> begin_for(detail::promise_base& p) noexcept {
        control_.waits();
        return begin(p);
    }
    /// For combinators, before it begins: where a coroutine is made that runs it for `p`.
    [[nodiscard]] environment& home(detail::promise_base& p) const noexcept {
        return detail::promise_base::of(*control_.get()).home(p);
    }
    /// For combinators, before it begins: it becomes part of `p`, which awaits it in place of the coroutine that made
    /// it.
    void set_caller(detail::promise_base& p) noexcept { detail::promise_base::of(*control_.get()).set_caller(p); }
    outcome_awaiter await_outcome_in(detail::promise_base& p, std::source_location where) && noexcept {
        p.set_await_location(where);
        if (control_.is_copied()) fail_used(p, where);
        control_.waits();
        return outcome_awaiter(p, *this);
    }

    /// For the library, once it has ended: the error that it ended with, or nullptr.
    [[nodiscard]] const detail::failure* error() const noexcept {
        const detail::frame_control& c = *control_.get();
        return c.word.end() == detail::ending::error ? c.error : nullptr;
    }

private:
    COFLUX_INLINE std::coroutine_handle<> begin(detail::promise_base& caller) noexcept {
        if (caller.begin_suspend() == detail::suspension::stop) [[unlikely]]
            return caller.stop_here();
        detail::frame_control& callee = *control_.get();
        if (callee.frame().done()) [[unlikely]]
            detail::fail_awaited_twice(caller);
        detail::promise_base::of(callee).use_executor_of(caller);
        // Only the caller knows the callee: no atomic store.
        callee.join.begin_awaited_by(caller);
        return detail::transfer(callee.frame());
    }
    static constexpr detail::nested_frame frame_on_top = detail::nested_frame_for<T>;

    template <typename Result>
    COFLUX_INLINE T take([[maybe_unused]] Result result) {
        if (!ended_in_place()) [[unlikely]]
            return take_aside(*control_.get());
        if constexpr (frame_on_top == detail::nested_frame::freed) {
            return detail::take_from<T>(result());
        } else {
            return detail::take_value<T>(*control_.plain());
        }
    }
    [[nodiscard]] COFLUX_INLINE bool ended_in_place() const noexcept {
        // Each a form that the optimiser follows from where it ran to where its result is taken.
        return frame_on_top == detail::nested_frame::freed ? control_.empty() : !control_.waited();
    }
    /// Out of line, so that a caller that never comes here saves no registers for it.
    static COFLUX_NOINLINE T take_aside(detail::frame_control& callee) {
        // Its state still names the caller, unless that never suspended, and is current.
        const detail::join_snapshot own = callee.join.own();
        if (own.is_in_plain_await()) [[likely]]
            detail::this_thread.current = own.coroutine();
        if (!callee.word.ended_with_value()) [[unlikely]]
            throw_error(callee);
        return detail::take_value<T>(callee);
    }
    [[noreturn]] COFLUX_COLD void fail_used(detail::promise_base& p, std::source_location where) const noexcept {
        if (control_.empty() && control_.is_empty_copy()) detail::fail_copied(p, where);
        detail::fail_awaited_twice(p);
    }
    [[noreturn]] COFLUX_COLD static void throw_error(detail::frame_control& callee) {
        callee.error->retain();
        callee.error->rethrow();
    }

    template <typename, typename...>
    friend class detail::call_promise;
    COFLUX_INLINE explicit call(detail::frame_control& c) noexcept : control_(&c) {}
    call(const call&) noexcept = default;  // never used: one that can only be elided cannot be returned in a register

    detail::awaited_call_frame control_;
};

}  // namespace coflux

template <typename T, typename... Args>
struct std::coroutine_traits<coflux::call<T>, Args...> {
    using promise_type = coflux::detail::call_promise<T, Args...>;
};
