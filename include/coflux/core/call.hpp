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
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

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

    /// The error that it ended with, or nullptr. The library alone calls it.
    /// Pre: it has ended.
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
/// Resumes: the caller, which only suspends if the call does, or if the stack has no room for the call.
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
