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

/// A call's pointer to its frame. The call owns the frame until its await begins, then the awaiter does.
class called_frame {
public:
    COFLUX_INLINE explicit called_frame(void* frame) noexcept : word_(static_cast<char*>(frame) + plain) {}

    /// Not awaited yet, or ended in place and kept.
    [[nodiscard]] COFLUX_INLINE bool is_plain() const noexcept { return (bits() & plain) != 0; }
    /// The awaiter owns the frame, or the frame has freed itself.
    [[nodiscard]] COFLUX_INLINE bool is_gone() const noexcept { return word_ == nullptr; }
    COFLUX_INLINE void set_waited() noexcept { word_ = reinterpret_cast<char*>((bits() & ~plain) | waited); }
    /// Where it is plain.
    [[nodiscard]] COFLUX_INLINE frame_control& in_place() const noexcept {
        return frame_control::of(static_cast<void*>(word_ - plain));
    }
    /// Where it is not gone.
    [[nodiscard]] COFLUX_INLINE frame_control& get() const noexcept {
        return frame_control::of(reinterpret_cast<void*>(bits() & ~(plain | waited)));
    }

    // The awaiter's, of a call whose frame was plain. The call's is gone then.
    struct freed_itself {};
    struct ended_in_place {};
    struct has_to_wait {};
    COFLUX_INLINE called_frame(called_frame& from, freed_itself) noexcept : word_(nullptr) { from.word_ = nullptr; }
    COFLUX_INLINE called_frame(called_frame& from, ended_in_place) noexcept
        : word_(std::exchange(from.word_, nullptr)) {
        // Gives the optimiser what it cannot know of a word that it loads again.
        const bool is = is_plain();
        COFLUX_ASSUME(is);
    }
    COFLUX_INLINE called_frame(called_frame& from, has_to_wait) noexcept : word_(std::exchange(from.word_, nullptr)) {
        set_waited();
    }

protected:
    template <typename T>
    friend class call_frame;
    called_frame(const called_frame&) noexcept = default;  // never used: see call

private:
    [[nodiscard]] COFLUX_INLINE std::uintptr_t bits() const noexcept { return reinterpret_cast<std::uintptr_t>(word_); }

    // The low bits; the rest is the frame's address. One test says that an await may begin.
    //   frame | plain   not awaited yet; or it ran in place to its end, and its result waits in the frame
    //   frame | waited  its awaiter has to wait for it
    //   0               gone
    static constexpr std::uintptr_t plain = 1;
    static constexpr std::uintptr_t waited = 2;

    char* word_;
};

template <typename T>
class call_frame;

/// The await of a call. It is made when the call has run as far as it can, and owns the frame: so the call's pointer is
/// in a register, and an await that need not wait stores nothing.
template <typename T>
class [[nodiscard]] call_awaiter {
    static constexpr nested_frame frame_after_nested_run = nested_frame_for<T>;

public:
    template <typename State>
    COFLUX_INLINE call_awaiter(called_frame& from, State state) noexcept : frame_(from, state) {
        if constexpr (COFLUX_LATE_RESULTS) result_ = thread_result();
    }
    COFLUX_INLINE ~call_awaiter() {
        if (!is_in_place()) [[unlikely]] {
            promise_base::discard_ended(frame_.get());
        } else if constexpr (frame_after_nested_run == nested_frame::kept) {
            promise_base::free_plainly(frame_.in_place());
        }
    }
    call_awaiter(const call_awaiter&) = delete;
    call_awaiter& operator=(const call_awaiter&) = delete;
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return is_in_place() || frame_.get().is_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
        h.promise().clear_takes_stop();
        // relaxed: a call that has begun is not `detached`, whatever else happens to it.
        frame_control& callee = frame_.get();
        promise_base& caller = *h.promise().rematerialized_this();
        if (callee.join.own().is_detached()) return call_frame<T>::begin(caller, callee);
        return caller.await_begun(callee);
    }
    COFLUX_INLINE T await_resume() const {
        if (!is_in_place()) [[unlikely]]
            return call_frame<T>::take_aside(frame_.get());
        if constexpr (frame_after_nested_run == nested_frame::kept) {
            return take_value<T>(frame_.in_place());
        } else if constexpr (COFLUX_LATE_RESULTS) {
            return take_from<T>(result_);
        } else {
            // Read as what it is: then the optimiser knows that it is no part of this awaiter.
            const std::uint64_t word = thread_result();
            return take_from<T>(word);
        }
    }

private:
    /// Ended in place.
    [[nodiscard]] COFLUX_INLINE bool is_in_place() const noexcept {
        // Each a form that the optimiser follows from where it ran to where its result is taken.
        return frame_after_nested_run == nested_frame::freed ? frame_.is_gone() : frame_.is_plain();
    }

    struct none {};

    called_frame frame_;
    /// The result that went by the thread, where results are taken late.
    [[no_unique_address]] std::conditional_t<COFLUX_LATE_RESULTS, std::uint64_t, none> result_;
};

/// The frame that a call owns: what the compiler and the library call, not users.
template <typename T>
class COFLUX_IN_REGISTER call_frame {
    static_assert(is_result<T>());

public:
    using single_use = void;

    COFLUX_INLINE explicit call_frame(void* frame) noexcept : frame_(frame) {}
    call_frame(call_frame&&) = delete;
    call_frame& operator=(call_frame&&) = delete;
    COFLUX_INLINE ~call_frame() {
        if (frame_.is_gone()) [[likely]]
            return;
        if (frame_.is_plain()) [[unlikely]] {
            promise_base::destroy_aside(frame_.in_place());
        } else {
            promise_base::discard_ended(frame_.get());
        }
    }

    COFLUX_INLINE call_awaiter<T> await_in(promise_base& p, std::source_location) && noexcept {
        check_not_awaited(p);
        if (p.run_call_nested<frame_after_nested_run>(frame_.in_place())) [[likely]] {
            if constexpr (frame_after_nested_run == nested_frame::freed) {
                return call_awaiter<T>(frame_, called_frame::freed_itself());
            } else {
                return call_awaiter<T>(frame_, called_frame::ended_in_place());
            }
        }
        return call_awaiter<T>(frame_, called_frame::has_to_wait());
    }

    class outcome_awaiter {
    public:
        outcome_awaiter(promise_base& caller, call_frame& of) noexcept : caller_(caller), of_(of) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
            caller_.control().word.set(frame_flags::takes_stop);
            return begin(caller_, of_.frame_.get());
        }
        outcome<T> await_resume() const {
            this_thread.current = &caller_;
            caller_.control().word.clear(frame_flags::takes_stop);
            return outcome_of<T>(of_.frame_.get());
        }

    private:
        promise_base& caller_;
        call_frame& of_;
    };

    // For awaiters that make it once `p` is suspended.
    /// Begins it, and returns what await_suspend must return.
    std::coroutine_handle<> begin_for(promise_base& p) noexcept {
        frame_.set_waited();
        return begin(p, frame_.get());
    }
    /// The result for await_resume.
    COFLUX_INLINE T take() { return take_aside(frame_.get()); }
    /// For combinators, before it begins: where a coroutine is made that runs it for `p`.
    [[nodiscard]] environment& home(promise_base& p) const noexcept {
        check_not_awaited(p);
        return promise_base::of(frame_.in_place()).home(p);
    }
    outcome_awaiter await_outcome_in(promise_base& p, std::source_location) && noexcept {
        check_not_awaited(p);
        frame_.set_waited();
        return outcome_awaiter(p, *this);
    }

    /// The error that it ended with, or nullptr. The library alone calls it.
    /// Pre: it has ended.
    [[nodiscard]] const failure* error() const noexcept {
        const frame_control& c = frame_.get();
        return c.word.end() == ending::error ? c.error : nullptr;
    }

private:
    friend class call_awaiter<T>;

    COFLUX_INLINE void check_not_awaited(promise_base& p) const noexcept {
        if (!frame_.is_plain()) [[unlikely]]
            fail_awaited_twice(p);
    }
    static COFLUX_INLINE std::coroutine_handle<> begin(promise_base& caller, frame_control& callee) noexcept {
        if (caller.begin_suspend() == suspension::stop) [[unlikely]]
            return caller.stop_here();
        promise_base::of(callee).begin_as_part_of(caller);
        // Only the caller knows the callee: no atomic store.
        callee.join.begin_awaited_by(caller);
        return transfer(callee.frame());
    }
    static constexpr nested_frame frame_after_nested_run = nested_frame_for<T>;

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
    called_frame frame_;
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
        return call<T>(this->handle().address());
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
    COFLUX_INLINE ~call() {}  // inline also where it unwinds: else the call is in memory

private:
    friend struct detail::await_access;
    template <typename, typename...>
    friend class detail::call_promise;
    COFLUX_INLINE explicit call(void* frame) noexcept : detail::call_frame<T>(frame) {}
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
