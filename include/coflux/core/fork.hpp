// fork: a child that starts at once and belongs to the scope it was made in; and the await of any owned coroutine.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/join/await_frame.hpp>
#include <coflux/core/detail/join/callbacks.hpp>
#include <coflux/core/detail/promise/copied_result.hpp>
#include <coflux/core/detail/promise/owned_promise.hpp>
#include <coflux/core/detail/promise/result.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/fork_view.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

template <typename Self, typename T>
class owned_handle;

/// The await of a fork or task, for g++ 12, which copies an awaiter that await_transform returns as an lvalue. It also
/// begins several awaits of one expression before it resumes from the first: a result that went by the thread waits
/// here. Elsewhere the handle is its own awaiter, and an await costs no store for one.
template <typename Handle, typename T>
class [[nodiscard]] owned_awaiter {
public:
    explicit owned_awaiter(Handle& handle) noexcept : handle_(handle), result_(thread_result) {}
    [[nodiscard]] bool await_ready() const noexcept { return handle_.await_ready(); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const {
        h.promise().clear_takes_stop();
        return handle_.await_suspend(h);
    }
    T await_resume() const {
        return handle_.take([this]() noexcept { return result_; });
    }

private:
    Handle& handle_;
    std::uint64_t result_;
};

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

/// What fork and task have in common: they own a frame until it is awaited, viewed away or given to the scope.
template <typename Self, typename T>
class COFLUX_IN_REGISTER owned_handle {
    static_assert(is_result<T>());

public:
    using single_use = void;
    using value_type = T;

    // Emptied last, so that the optimiser sees it when `other` dies at once.
    owned_handle(owned_handle&& other) noexcept : control_(other.control_.get()) { other.control_.clear(); }
    owned_handle(const owned_handle&) = delete;
    owned_handle& operator=(const owned_handle&) = delete;

    /// True while the handle names a coroutine: until it was awaited, moved from or attached.
    [[nodiscard]] bool valid() const noexcept { return !control_.empty(); }
    /// True once the coroutine has ended; its result is still to be taken.
    [[nodiscard]] bool done() const noexcept { return checked().done(); }
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
        promise_base::share(checked(), 1);
        return fork_view<T>(used());
    }

    /// Calls `f(const T&)` (or `f()`) once the coroutine ended with a value; at once if it has.
    /// Shapes: the copy of a `T` that says it can be copied must compile: an await that is ready while `f` runs takes
    /// one.
    /// Errors: what `f` throws is an error of the scope that the coroutine belongs to.
    /// Threads: `f` runs on the thread that ends the coroutine, before the coroutines that await it are woken.
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

    COFLUX_INLINE decltype(auto) await_in(promise_base& p, std::source_location where) && noexcept {
        // The newest of the worker's forks was not used up.
        constexpr bool asks_on_top = !COFLUX_CLANG && !Self::starts_in_creator;
        if (control_.is_copied()) [[unlikely]]
            fail_copied(p, where);
        if (!asks_on_top && control_.empty()) [[unlikely]]
            fail_empty(p, where);
        p.set_await_location(where);
        if constexpr (!Self::starts_in_creator) {
            if (p.run_fork_nested<frame_on_top>(control_.plain())) {
                if constexpr (frame_on_top == nested_frame::freed) {
                    control_.clear();
                } else {
                    control_.assume_not_waited();
                }
            } else {
                if (asks_on_top && control_.empty()) [[unlikely]]
                    fail_empty(p, where);
                control_.waits();
            }
        }
        if constexpr (COFLUX_CLANG) {
            return static_cast<owned_handle&>(*this);
        } else {
            return owned_awaiter<owned_handle, T>(*this);
        }
    }
    owned_outcome_awaiter<owned_handle, T> await_outcome_in(promise_base& p, std::source_location where) && noexcept {
        if (control_.is_copied()) fail_copied(p, where);
        if (control_.empty()) fail_empty(p, where);
        p.set_await_location(where);
        control_.waits();
        return owned_outcome_awaiter<owned_handle, T>(p, *this);
    }

    // The handle as awaiter; what the compiler calls, not users. It keeps the frame until the coroutine resumes.
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return ended_in_place() || awaited().is_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        promise_base& p = *h.promise().rematerialized_this();
        // One look for all that is rare: views or callbacks, and a child of another environment, which a stop may not
        // reach.
        if (!promise_base::of(used()).is_unshared_child_of(p)) [[unlikely]] {
            failed_unless_waits guard(control_);
            const std::coroutine_handle<> next = await_aside(p, used());
            guard.waits();
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
            if constexpr (frame_on_top == nested_frame::freed) {
                return take_from<T>(result());
            } else {
                const plainly_freed_frame frees(control_);
                return take_value<T>(*control_.plain());
            }
        }
        if constexpr (Self::starts_in_creator) {
            // Emptied last: the optimiser then knows that there is nothing left to drop.
            const emptied_frame empties(control_);
            return consume_waited(awaited());
        } else {
            return consume_aside(release());
        }
    }

    /// For combinators: a bitwise copy (awaited_frame.hpp).
    [[nodiscard]] COFLUX_INLINE bool is_copied() const noexcept { return control_.is_copied(); }
    /// For combinators: gives the frame up to the caller.
    [[nodiscard]] COFLUX_INLINE frame_control& release() noexcept { return *control_.take(); }
    /// For combinators and awaiters: the frame, which the handle keeps.
    [[nodiscard]] COFLUX_INLINE frame_control& used() const noexcept { return *frame(); }
    /// For combinators and awaiters: the frame, or null.
    [[nodiscard]] COFLUX_INLINE frame_control* frame() const noexcept { return control_.get(); }
    /// For combinators: where the frame is or close to it, to be fetched into the cache.
    [[nodiscard]] COFLUX_INLINE const void* address() const noexcept { return control_.plain(); }
    /// For awaiters: the await threw, and nothing has happened.
    void assume_not_waited() noexcept { control_.failed(); }
    /// For combinators and awaiters: used(), where the user may be wrong.
    [[nodiscard]] COFLUX_INLINE frame_control& checked() const noexcept {
        if (control_.empty()) [[unlikely]]
            fail_empty();
        return used();
    }

protected:
    COFLUX_INLINE explicit owned_handle(frame_control& c) noexcept : control_(&c) {}
    ~owned_handle() = default;

    awaited_frame control_;

private:
    /// One that may run inside the call that makes it, and does not know until then, keeps its frame.
    static constexpr nested_frame frame_on_top = Self::starts_queued ? nested_frame_for<T> : nested_frame::kept;

    /// In a plain await, which marks no handle of a coroutine that begins in the call that makes it.
    [[nodiscard]] COFLUX_INLINE frame_control& awaited() const noexcept {
        if constexpr (Self::starts_in_creator) {
            return *control_.plain();
        } else {
            return used();
        }
    }
    /// Out of line, so that a caller that never comes here saves no registers for it.
    static COFLUX_NOINLINE T consume_aside(frame_control& c) { return consume_waited(c); }
    static COFLUX_INLINE T consume_waited(frame_control& c) {
        const join_snapshot own = c.join.own();
        // The awaiting coroutine still stands where it waited; if it never suspended, it still is current.
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
        if constexpr (Self::starts_in_creator) {
            return false;
        } else if constexpr (frame_on_top == nested_frame::freed) {
            return control_.empty();
        } else {
            return !control_.waited();
        }
    }

    template <typename F>
    void promise_if_running(F f) const noexcept {
        frame_control& c = checked();
        if (!c.done() || c.join.is_nested()) f(promise_base::of(c));  // nested on its awaiter's stack, it still runs
    }
    template <ending When, typename F>
    Self& call_back(F f) {
        attach_callback<When, T>(checked(), std::move(f));
        return static_cast<Self&>(*this);
    }
};

}  // namespace detail

/// A child coroutine: starts at once, owned by the scope of the environment it is given, which does not end before it.
///
/// Shapes: `T` is an object type, a reference or void; `Executor` is an executor of the environment, `nth<E, N>`, or by
/// default the parent's own. Parameters are owned by the coroutine (law 10). Move-only.
/// Returns: `co_await std::move(f)` gives T once, or throws the child's error.
/// Resumes: the awaiting coroutine on its own executor.
/// Errors: std::bad_alloc from the call that makes it, without effect; a failure that no await observes fails the
/// scope.
/// Stops: the await is a stop point and loses nothing; a stop that comes while it waits reaches the fork, wherever that
/// was made. A stopped child stops the awaiting coroutine, unless as_outcome() asks.
/// Threads: the handle is used by one coroutine at a time.
/// Costs: one frame from the environment's resource; if it is awaited before a thief took it, one atomic exchange, and
/// it runs on the stack of the awaiting coroutine, to a depth of 64 KiB.
/// Lifetime: a handle that dies early leaves the fork to its scope.
template <typename T, typename Executor>
class COFLUX_IN_REGISTER [[nodiscard(
    "a fork that is not kept cannot be awaited: keep the handle, co_await it, or say .attach() to leave it to the scope")]] fork
    : public detail::owned_handle<fork<T, Executor>, T> {
    static_assert(detail::names_executor<Executor>, "coflux: the second argument of fork is not an executor");
    using base = detail::owned_handle<fork<T, Executor>, T>;

public:
    fork(fork&&) noexcept = default;
    fork& operator=(fork&& other) noexcept {
        fork moved(std::move(other));  // what this one held dies with it
        this->control_.swap(moved.control_);
        return *this;
    }
    COFLUX_INLINE ~fork() {
        if (!this->control_.empty()) detail::promise_base::drop_checked(this->used());
    }
    static constexpr bool starts_in_creator =
        detail::start_kind_of<Executor> == detail::start_kind::inline_start;  ///< for the library
    static constexpr bool starts_queued = detail::start_kind_of<Executor> == detail::start_kind::queued;  ///< internal

    /// What a task has.
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
