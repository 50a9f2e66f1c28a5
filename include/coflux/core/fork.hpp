// fork: a child that starts at once and belongs to the scope it was made in.
#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/join/callbacks.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/start.hpp>
#include <coflux/core/fork_view.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

/// The common part of fork and task: they own a frame until it is awaited, viewed away or given to the scope.
template <typename Self, typename T, start_kind Start>
class COFLUX_IN_REGISTER owned_handle : protected owned_frame<T, Start> {
    using frame_base = owned_frame<T, Start>;

public:
    using value_type = T;

    owned_handle(owned_handle&& other) noexcept = default;
    owned_handle(const owned_handle&) = delete;
    owned_handle& operator=(const owned_handle&) = delete;

    /// True while the handle names a coroutine: from when it was given one until it was awaited, moved from or
    /// attached.
    [[nodiscard]] bool valid() const noexcept { return !this->is_empty(); }
    /// True once the coroutine has ended; its result is still to be taken. Its callbacks may still run.
    [[nodiscard]] bool done() const noexcept { return this->checked().has_ended(); }
    /// Requests a stop of the coroutine, of everything below it, and of the handles that it took over.
    /// Threads: any, while the handle is not moved, awaited or destroyed by another; no signal handler.
    /// Costs: as environment::request_stop().
    void request_stop() const noexcept {
        promise_if_running([](promise_base& p) { p.request_stop(); });
    }

    /// A copyable look at the result: several coroutines may await it. The frame then lives as long as handle or views.
    /// Shapes: T is copyable or void, because the awaits of the handle and of the views would otherwise fight for
    /// the value.
    [[nodiscard]] fork_view<T> view() const
        requires(std::is_void_v<T> || std::is_reference_v<T> || std::is_copy_constructible_v<T>)
    {
        if constexpr (std::is_object_v<T>) copied_result<T>::made_possible();
        promise_base::share(this->checked(), 1);
        return await_access::view_of<fork_view<T>>(this->used());
    }

    /// Calls `f(const T&)` (or `f()`) once the coroutine ended with a value; at once if it has.
    /// Shapes: the copy of a `T` that says it can be copied must compile: an await that comes with the end takes one.
    /// Errors: what `f` throws is an error of the scope that the coroutine belongs to.
    /// Threads: `f` runs on the thread that ends the coroutine, when done() is true. Whoever awaits the coroutine, or
    /// blocks in get() or join() on a thread that runs no coroutines, goes on after `f` has returned.
    /// Costs: one allocation from the environment.
    template <typename F>
    Self& on_value(F f) & {
        return call_back<ending::value>(std::move(f));
    }
    /// Calls `f(std::exception_ptr)` once the coroutine failed; the error then counts as observed.
    template <typename F>
    Self& on_error(F f) & {
        return call_back<ending::error>(std::move(f));
    }
    /// Calls `f()` once the coroutine was stopped.
    template <typename F>
    Self& on_stopped(F f) & {
        return call_back<ending::stopped>(std::move(f));
    }
    template <typename F>
    Self&& on_value(F f) && {
        return std::move(call_back<ending::value>(std::move(f)));
    }
    template <typename F>
    Self&& on_error(F f) && {
        return std::move(call_back<ending::error>(std::move(f)));
    }
    template <typename F>
    Self&& on_stopped(F f) && {
        return std::move(call_back<ending::stopped>(std::move(f)));
    }

protected:
    owned_handle() noexcept = default;
    COFLUX_INLINE explicit owned_handle(frame_control& c) noexcept : frame_base(c) {}
    ~owned_handle() = default;

private:
    friend struct await_access;

    template <typename F>
    void promise_if_running(F f) const noexcept {
        frame_control& c = this->checked();
        if (!c.has_ended() || c.join.is_nested())
            f(promise_base::of(c));  // nested on its awaiter's stack, it still runs
    }
    template <ending When, typename F>
    Self& call_back(F f) {
        attach_callback<When, T>(this->checked(), std::move(f));
        return static_cast<Self&>(*this);
    }
};

}  // namespace detail

/// An eager child: it starts in the call that makes it, owned by the scope of the environment it is given, which does
/// not end before it. The lazy type is `call`.
///
/// Shapes: `T` is an object type, a reference or void; `Executor` is an executor of the environment, `nth<E, N>`, or by
/// default the parent's own. Parameters are owned by the coroutine (law 10). A member function borrows its object: its
/// class has no data, or says `using outlives_its_coroutines = void;`. Move-only.
/// Returns: `co_await std::move(f)` gives T once, or throws the child's error.
/// Resumes: the awaiting coroutine on its own executor.
/// Errors: std::bad_alloc from the call that makes it, without effect; a failure that no await observes fails the
/// scope.
/// Stops: the await is a stop point and loses nothing; a stop that comes while it waits reaches the fork, wherever that
/// was made. A stopped child stops the awaiting coroutine, unless as_outcome() asks. A child that a stop from above
/// ended while no coroutine awaited it makes the coroutine that it was made in stopped, too, unless that says
/// environment::finish_with_value().
/// Threads: the handle is used by one coroutine at a time.
/// Costs: one frame from the environment's resource; if it is awaited before a thief took it, one atomic exchange, and
/// it runs on the stack of the awaiting coroutine, to a depth of 64 KiB.
/// Lifetime: a handle that dies early, or is assigned to, leaves the fork that it had to its scope. One that has none
/// (`valid()`) may be assigned to and destroyed; all else is a checked error.
template <typename T, typename Executor>
class COFLUX_IN_REGISTER [[nodiscard(
    "a fork that is not kept cannot be awaited: keep the handle, co_await it, or say .attach() to leave it to the scope")]] fork
    : public detail::owned_handle<fork<T, Executor>, T, detail::start_kind_of<Executor>> {
    static_assert(detail::names_executor<Executor>, "coflux: the second argument of fork is not an executor");
    using base = detail::owned_handle<fork<T, Executor>, T, detail::start_kind_of<Executor>>;

public:
    /// Names no coroutine: to be assigned to.
    fork() noexcept = default;
    fork(fork&&) noexcept = default;
    fork& operator=(fork&& other) noexcept {
        fork moved(std::move(other));  // what this one held dies with it
        this->swap(moved);
        return *this;
    }
    COFLUX_INLINE ~fork() {
        if (!this->is_empty()) detail::promise_base::drop_checked(this->used());
    }

    /// A task has it.
    template <typename Self = fork>
    T get() const {
        static_assert(
            detail::never<Self>,
            "coflux: a fork is a child, to be awaited by a coroutine: what main() makes and waits for is a task");
        std::terminate();
    }
    template <typename Self = fork>
    void join() const {
        get<Self>();
    }

    /// Leaves the fork to its scope on purpose.
    void attach() && noexcept {
        detail::promise_base::drop(this->checked());
        (void)this->release();
    }

private:
    template <typename, typename, typename, typename...>
    friend class detail::owned_promise;
    COFLUX_INLINE explicit fork(detail::frame_control& c) noexcept : base(c) {}
};

}  // namespace coflux

template <typename T, typename Executor, typename... Args>
struct std::coroutine_traits<coflux::fork<T, Executor>, Args...> {
    using promise_type = coflux::detail::owned_promise<coflux::fork<T, Executor>, T, Executor, Args...>;
};

template <typename T, typename Executor>
struct std::tuple_size<coflux::fork<T, Executor>> : coflux::detail::size_before_await<coflux::fork<T, Executor>> {};
