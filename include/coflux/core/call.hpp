// call: an async function call, run inline as part of its caller.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/handle/call_frame.hpp>
#include <coflux/core/detail/promise/await_transform.hpp>
#include <coflux/core/detail/promise/result.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

template <typename T, typename... Args>
class call_promise final : public typed_promise<T> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE explicit call_promise(COFLUX_ARGUMENT(Args, Given) & ... args) noexcept
        : typed_promise<T>(made_in(args...)) {}
    COFLUX_INLINE ~call_promise() {
        if constexpr (!ends_trivially<T, Args...>) this->end_scope();
    }
    call_promise(const call_promise&) = delete;
    call_promise& operator=(const call_promise&) = delete;

    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate(guess_frame_shape(size), made_in(args...));
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate(frame_shape_of(size, alignment), made_in(args...));
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
        check_call_parameters<Args...>();
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

private:
    /// The environment that it was given, or that of its awaiter, which it does not know yet.
    template <typename... Given>
    COFLUX_INLINE static decltype(auto) made_in([[maybe_unused]] Given&... args) noexcept {
        if constexpr (environment_position<Args...> >= 0) {
            return find_environment(args...);
        } else {
            return awaiters_environment();
        }
    }
    COFLUX_INLINE static void* allocate(frame_shape shape, environment& in) {
        return allocate_frame<ends_trivially<T, Args...>>(shape, in, counting::none);
    }
    COFLUX_INLINE static void* allocate(frame_shape shape, awaiters_environment) {
        return allocate_pooled_frame<ends_trivially<T, Args...>>(shape, counting::none, 0);
    }
};

}  // namespace detail

/// A lazy call: it begins when it is awaited, and runs inline as part of its caller, on the caller's executor and in
/// the caller's environment.
///
/// Shapes: `T` is an object type, a reference or void. Parameters may be references: the caller is suspended meanwhile.
/// A member function and a lambda with captures may be one, too. Neither movable nor storable: it is awaited in the
/// expression that makes it. An environment as first parameter may be left out; its resource has the frame. A call that
/// was given one of make_environment() runs in that, unless that is above the caller.
/// Returns: `co_await f(…)` gives T or throws.
/// Resumes: the caller, which only suspends if the call does, or if the worker's stack has no room for the call.
/// Errors: std::bad_alloc from the call, without effect.
/// Stops: the await is a stop point and loses nothing; a stop of the caller reaches the callee, whatever environment it
/// was given, if it was given one; a callee that was stopped stops its caller, unless as_outcome() asks.
/// Threads: the caller's.
/// Costs: one frame, from the frame pool if the call names no environment; no atomic read-modify-write.
/// Lifetime: its parameters die with it, when it ends or, if it has waited, with the expression that awaits it. One
/// that is given a name first, `auto c = f(text()); co_await std::move(c);`, is awaited after the temporaries
/// that its reference parameters were bound to have died: no compiler tells.
template <typename T>
class COFLUX_IN_REGISTER [[nodiscard("a call that is not awaited never begins: co_await it")]] call
    : detail::call_frame<T> {
public:
    call(call&&) = delete;
    call& operator=(call&&) = delete;
    ~call() = default;

private:
    friend struct detail::await_access;
    template <typename, typename...>
    friend class detail::call_promise;
    COFLUX_INLINE explicit call(detail::frame_control& c) noexcept : detail::call_frame<T>(c) {}
    call(const call&) noexcept = default;  // never used: one that can only be elided cannot be returned in a register
};

}  // namespace coflux

/// A container of calls.
template <typename T>
class std::allocator<coflux::call<T>> {
    static_assert(coflux::detail::never<T>,
                  "coflux: a container cannot keep a call, which is awaited in the expression that makes it: keep "
                  "forks, or await coflux::for_each_concurrent(elements, n, f)");

public:
    using value_type = coflux::call<T>;
};

template <typename T, typename... Args>
struct std::coroutine_traits<coflux::call<T>, Args...> {
    using promise_type = coflux::detail::call_promise<T, Args...>;
};

template <typename T>
struct std::tuple_size<coflux::call<T>> : coflux::detail::size_before_await<coflux::call<T>> {};
