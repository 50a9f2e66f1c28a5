// How forks and tasks begin: their promise, eager, counted by the scope it was made in.
//
// The page docs/design/fork_join.md has the argument.
#pragma once

#include <coroutine>
#include <cstddef>
#include <source_location>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/fwd.hpp>

namespace coflux::detail {

template <typename E>
inline constexpr start_kind start_kind_of =
    std::is_same_v<E, inherit_executor>                ? start_kind::inherited
    : starts_inline<typename executor_choice<E>::type> ? start_kind::inline_start
                                                       : start_kind::queued;

/// Fails because a coroutine names an executor that its environment does not have.
[[noreturn]] COFLUX_COLD void fail_no_executor(const environment& in, const executor_key& wanted,
                                               std::size_t position) noexcept;

template <typename E>
COFLUX_INLINE const executor_entry* choose_executor(const environment& parent) noexcept {
    if constexpr (start_kind_of<E> == start_kind::queued) {
        using choice = executor_choice<E>;
        const executor_entry* const e = data_of(parent).find(&key_of<typename choice::type>, choice::position);
        if (e == nullptr) [[unlikely]]
            fail_no_executor(parent, key_of<typename choice::type>, choice::position);
        return e;
    } else {
        return executor_of(parent);
    }
}

/// Without NDEBUG: notes a fork or task that a coroutine makes in the environment that it was itself made in, and that
/// outer() has not named. `at`: where the new one is defined.
COFLUX_COLD void note_sibling(promise_base& made, std::source_location at) noexcept;

COFLUX_INLINE void promise_base::start_on(const executor_entry* own, std::coroutine_handle<> h) noexcept {
    if (this_thread.executor == own->identity) [[likely]]
        return this_thread.queues->push_fork(h);
    start_elsewhere(h);
}

COFLUX_INLINE void promise_base::start(std::coroutine_handle<> h) noexcept {
    start_on(executor_.own(), h);
}

template <start_kind Kind>
COFLUX_INLINE void promise_base::count_in(frame_control& c) noexcept {
    // One that is counted atomically is counted at once: its creator does not hold the parent as a caller does.
    if (c.word.is_counted_atomically()) [[unlikely]]
        return count_in_atomically(c);
    if constexpr (Kind == start_kind::inline_start) return;
    if constexpr (Kind == start_kind::inherited) {
        if (runs_on() == nullptr) return;
    }
    count_by_owner();
}

COFLUX_INLINE void promise_base::count_and_start(std::coroutine_handle<> h) noexcept {
    const executor_entry* const own = executor_.own();
    if (this_thread.current != parent_.own()) [[unlikely]]
        return count_and_start_atomically(h);
    count_by_owner();
    start_on(own, h);
}

COFLUX_INLINE void promise_base::begin_in_creator(std::coroutine_handle<> h) noexcept {
    if (COFLUX_TAIL_CALLS || !has_room_to_begin()) [[unlikely]]
        return begin_slowly(h);
    run(h);
}

/// Operations that owned promises share, whatever their result.
template <typename T, typename E>
class owned_promise_base : public typed_promise<T> {
public:
    template <typename A>
    COFLUX_INLINE decltype(auto) await_transform(A&& awaited,
                                                 std::source_location where = std::source_location::current()) {
        if constexpr (kind == start_kind::inline_start && is_context_request<A>) this->set_await_location(where);
        return bind_await(*this, std::forward<A>(awaited), where);
    }

    /// The promise is its own first awaiter: one object less in every frame.
    COFLUX_INLINE owned_promise_base& initial_suspend() noexcept { return *this; }
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept {
        // Without guaranteed tail calls an inline start runs under a loop of its own, in await_suspend.
        if constexpr (kind == start_kind::queued || starts_deferred<E> || !COFLUX_TAIL_CALLS) {
            return false;
        } else if constexpr (kind == start_kind::inline_start) {
            return promise_base::has_room_to_begin();
        } else {
            return this->runs_on() == nullptr && promise_base::has_room_to_begin();
        }
    }
    COFLUX_INLINE void await_suspend(std::coroutine_handle<> h) noexcept {
        if constexpr (kind == start_kind::queued) {
            this->count_and_start(h);
        } else if constexpr (starts_deferred<E>) {
            // its maker begins it
        } else if constexpr (kind == start_kind::inline_start) {
            this->begin_in_creator(h);
        } else {
            this->runs_on() == nullptr ? this->begin_in_creator(h) : this->start(h);
        }
    }
    /// Until it asks for its context it runs on behalf of its creator, of its awaiter, or of no coroutine.
    COFLUX_INLINE void await_resume() noexcept {
#ifndef NDEBUG
        this_thread.begun = this;
        this_thread.begun_at = this->control().where;
#endif
    }

protected:
    static constexpr start_kind kind = start_kind_of<E>;

    COFLUX_INLINE explicit owned_promise_base(environment& parent) noexcept
        : owned_promise_base(parent, choose_executor<E>(parent)) {}

private:
    COFLUX_INLINE owned_promise_base(environment& parent, const executor_entry* e) noexcept
        : typed_promise<T>(parent, e,
                           kind == start_kind::inline_start || (kind == start_kind::inherited && e == nullptr)) {
        frame_control& c = this->control();
        if constexpr (kind == start_kind::inherited) {
            if (e == nullptr) [[unlikely]]
                c.word.set(frame_flags::inline_start);
        }
        if constexpr (kind != start_kind::queued) this->template count_in<kind>(c);
    }
};

template <typename Handle>
inline constexpr bool is_task = false;
template <typename T, typename E>
inline constexpr bool is_task<task<T, E>> = true;

/// The promise type of a coroutine that returns `Handle` and has parameters `Args`.
template <typename Handle, typename T, typename E, typename... Args>
class owned_promise final : public owned_promise_base<T, E> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE explicit owned_promise(COFLUX_ARGUMENT(Args, Given) & ... args) noexcept
        : owned_promise_base<T, E>(find_environment(args...)) {
        if constexpr (borrows_any<Args...> && !starts_deferred<E>) this->mark_as_borrowing();
        if constexpr (is_task<Handle>) this->mark_as_task();
    }
    COFLUX_INLINE ~owned_promise() {
        if constexpr (!ends_trivially<T, Args...>) this->end_scope();
    }
    owned_promise(const owned_promise&) = delete;
    owned_promise& operator=(const owned_promise&) = delete;

    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate(guess_frame_shape(size), find_environment(args...));
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate(frame_shape_of(size, alignment), find_environment(args...));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size) noexcept {
        pass_result_on<T, Args...>(frame);
        deallocate_frame(frame, guess_frame_shape(size));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size, std::align_val_t alignment) noexcept {
        pass_result_on<T, Args...>(frame);
        deallocate_frame(frame, frame_shape_of(size, alignment));
    }

    COFLUX_INLINE Handle get_return_object(std::source_location where = std::source_location::current()) noexcept {
        check_owned_parameters<Args...>();
#ifndef NDEBUG
        this->set_await_location(where);
        if constexpr (!starts_deferred<E>) note_sibling(*this, where);
#endif
        // One that starts inline writes its first location at its first await, and nothing reads it before.
        if constexpr (start_kind_of<E> != start_kind::inline_start) this->set_await_location(where);
        return Handle(this->control());
    }

    COFLUX_INLINE auto final_suspend() noexcept {
#ifndef NDEBUG
        this_thread.begun = nullptr;
        if (this_thread.sibling.maker == this) [[unlikely]]
            tell_of_sibling();
#endif
        if constexpr (start_kind_of<E> == start_kind::queued) {
            return end_awaiter<ending_kind::queued>(frees_itself<T, Args...>(*this));
        } else {
            return end_awaiter<ending_kind::may_be_inline>(false);
        }
    }

private:
    COFLUX_INLINE static void* allocate(frame_shape shape, environment& env) {
        if constexpr (start_kind_of<E> == start_kind::queued) {
            return allocate_queued_frame<ends_trivially<T, Args...>>(shape, env);
        } else {
            constexpr std::uint32_t flags =
                start_kind_of<E> == start_kind::inline_start ? frame_flags::inline_start : 0;
            // A coroutine that begins later is made by the coroutine whose environment it gets, or in an environment
            // object.
            if (starts_deferred<E> ? !data_ref_of(env).is_of_object() : this_thread.current == &env) [[likely]]
                return allocate_frame<ends_trivially<T, Args...>>(shape, env, counting::by_owner, flags);
            return allocate_shared_frame(shape, env, flags);
        }
    }
};

}  // namespace coflux::detail
