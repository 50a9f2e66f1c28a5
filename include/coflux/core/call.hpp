// call: an async function call, run inline as part of its caller.
#pragma once

#include <coroutine>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/await_transform.hpp>
#include <coflux/core/frame_allocation.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/core/result.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

[[noreturn]] COFLUX_COLD void fail_awaited_twice() noexcept;

template <typename T, typename... Args>
class call_promise final : public typed_promise<T> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE explicit call_promise(COFLUX_ARGUMENT(Args, Given) & ... args) noexcept
        : typed_promise<T>(find_environment(args...)) {}

    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame(guess_frame_shape(size), data_of(find_environment(args...)), ticket::none);
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame(frame_shape_of(size, alignment), data_of(find_environment(args...)), ticket::none);
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size) noexcept {
        deallocate_frame(frame, guess_frame_shape(size));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size, std::align_val_t alignment) noexcept {
        deallocate_frame(frame, frame_shape_of(size, alignment));
    }

    COFLUX_INLINE call<T> get_return_object() noexcept {
        check_environment<Args...>();
        return call<T>(this->control());
    }

    template <typename A>
    COFLUX_INLINE decltype(auto) await_transform(A&& awaited,
                                                 std::source_location where = std::source_location::current()) {
        if constexpr (is_context_request<A>) this->awaits_at(where);
        return bind_await(*this, std::forward<A>(awaited), where);
    }

    class end_awaiter {
    public:
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<call_promise> h) const noexcept {
            return h.promise().template body_ended<ending_kind::call>();
        }
        void await_resume() const noexcept {}
    };
    /// Lazy; and until it asks for its context it runs on behalf of its caller, whose current() it leaves alone.
    COFLUX_INLINE std::suspend_always initial_suspend() const noexcept { return {}; }
    COFLUX_INLINE end_awaiter final_suspend() const noexcept { return {}; }
};

}  // namespace detail

/// An async function call: begins when it is awaited and runs inline as part of its caller, on the caller's executor.
///
/// Shapes: `T` is an object type, a reference or void. Parameters may be references: the caller is suspended meanwhile.
/// Neither movable nor storable: it is awaited in the expression that makes it.
/// Returns: `co_await f(here, …)` gives T or throws. Resumes: the caller, by symmetric transfer.
/// Errors: std::bad_alloc from the call, without effect.
/// Stops: the await is a stop point and loses nothing; a callee that was stopped stops its caller, unless
/// as_outcome() asks.
/// Threads: the caller's. Costs: one frame; no atomic read-modify-write.
template <typename T>
class [[nodiscard("a call that is not awaited never begins: co_await it")]] call {
public:
    using single_use = void;

    call(const call&) = delete;
    call& operator=(const call&) = delete;
    COFLUX_INLINE ~call() { detail::promise_base::destroy(control_); }

    /// For g++ 12, which copies an awaiter that await_transform returns as an lvalue; elsewhere the call is its own
    /// awaiter.
    class awaiter {
    public:
        COFLUX_INLINE explicit awaiter(call& of) noexcept : of_(of) {}
        [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
            return of_.begin(h.promise());
        }
        COFLUX_INLINE T await_resume() const { return of_.take(); }

    private:
        call& of_;
    };
    COFLUX_INLINE decltype(auto) await_in(detail::promise_base& p, std::source_location where) && noexcept {
        p.awaits_at(where);
        if constexpr (COFLUX_CLANG) {
            return static_cast<call&>(*this);
        } else {
            return awaiter(*this);
        }
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return false; }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return begin(h.promise());
    }
    COFLUX_INLINE T await_resume() { return take(); }

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
            return detail::outcome_of<T>(of_.control_);
        }

    private:
        detail::promise_base& caller_;
        call& of_;
    };
    /// For combinators, before it begins: it becomes part of `p`, which awaits it in place of the coroutine that made it.
    void adopted_by(detail::promise_base& p) noexcept { detail::promise_base::of(control_).adopted_by(p); }
    outcome_awaiter await_outcome_in(detail::promise_base& p, std::source_location where) && noexcept {
        p.awaits_at(where);
        return outcome_awaiter(p, *this);
    }

private:
    COFLUX_INLINE std::coroutine_handle<> begin(detail::promise_base& caller) noexcept {
        if (caller.suspends()) [[unlikely]]
            return caller.stop_here();
        detail::frame_control& callee = control_;
        if (callee.frame().done()) [[unlikely]]
            detail::fail_awaited_twice();
        detail::promise_base::of(callee).runs_for(caller);
        // Nobody else knows the callee: a plain store.
        callee.begin_as(reinterpret_cast<std::uintptr_t>(&caller) | detail::frame_state::direct);
        return detail::transfer(callee.frame());
    }
    COFLUX_INLINE T take() {
        detail::frame_control& callee = control_;
        // Its state still names the caller.
        detail::this_thread.current = reinterpret_cast<detail::promise_base*>(
            callee.state.load(detail::memory_order_relaxed) - detail::frame_state::direct);
        if (!callee.word.ended_with_value()) [[unlikely]]
            throw_error(callee);
        return detail::take_value<T>(callee);
    }
    [[noreturn]] COFLUX_COLD static void throw_error(detail::frame_control& callee) {
        callee.error->retain();
        callee.error->rethrow();
    }

    template <typename, typename...>
    friend class detail::call_promise;
    COFLUX_INLINE explicit call(detail::frame_control& c) noexcept : control_(c) {}

    detail::frame_control& control_;
};

}  // namespace coflux

template <typename T, typename... Args>
struct std::coroutine_traits<coflux::call<T>, Args...> {
    using promise_type = coflux::detail::call_promise<T, Args...>;
};
