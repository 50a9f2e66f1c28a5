// fork_view: a copyable look at a fork's or task's result.
#pragma once

#include <coroutine>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/result.hpp>
#include <coflux/core/waiter.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

template <typename Self, typename T>
class owned_handle;

/// What a view's await gives: a look at the value in the frame.
template <typename T>
using viewed =
    std::conditional_t<std::is_void_v<T>, void,
                       std::conditional_t<std::is_reference_v<T>, T, std::add_lvalue_reference_t<std::add_const_t<T>>>>;

/// Waits in the list of a shared frame. Pre: the awaiting coroutine holds a reference to the frame until it resumes.
std::coroutine_handle<> await_shared(promise_base& p, frame_control& c, waiter& w) noexcept;

template <typename T>
class [[nodiscard]] view_awaiter : private waiter {
public:
    view_awaiter(promise_base& p, fork_view<T> view, std::source_location where) noexcept
        : p_(p),
          view_(std::move(view)) {
        p.awaits_at(where);
    }

    [[nodiscard]] bool await_ready() const noexcept {
        return view_.control().done() && view_.control().word.end() != ending::stopped;
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        return await_shared(p_, view_.control(), *this);
    }
    viewed<T> await_resume() {
        this_thread.current = &p_;
        frame_control& c = view_.control();
        if (c.word.end() == ending::error) {
            c.error->retain();
            c.error->rethrow();
        }
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*promise_of<T>(c).result());
        } else if constexpr (!std::is_void_v<T>) {
            return promise_of<T>(c).result();
        }
    }

private:
    promise_base& p_;
    fork_view<T> view_;
};

/// The same as an outcome; the error then counts as observed.
template <typename T>
class [[nodiscard]] view_outcome_awaiter : private waiter {
public:
    view_outcome_awaiter(promise_base& p, fork_view<T> view, std::source_location where) noexcept
        : p_(p),
          view_(std::move(view)) {
        p.awaits_at(where);
    }

    [[nodiscard]] bool await_ready() const noexcept { return view_.control().done(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        p_.control().word.set(frame_flags::takes_stop);
        return await_shared(p_, view_.control(), *this);
    }
    outcome<viewed<T>> await_resume() {
        this_thread.current = &p_;
        p_.control().word.clear(frame_flags::takes_stop);
        frame_control& c = view_.control();
        if (c.word.end() == ending::stopped) return stopped;
        if (c.word.end() == ending::error) {
            c.error->observe();
            return outcome<viewed<T>>(c.error->error());
        }
        if constexpr (std::is_void_v<T>) {
            return outcome<void>(std::in_place);
        } else if constexpr (std::is_reference_v<T>) {
            return outcome<T>(std::in_place, promise_of<T>(c).result());
        } else {
            return outcome<viewed<T>>(std::in_place, std::addressof(promise_of<T>(c).result()));
        }
    }

private:
    promise_base& p_;
    fork_view<T> view_;
};

}  // namespace detail

/// A copyable, read-only look at a fork's result: any number of coroutines may await it, so that a workflow can be a
/// DAG while ownership stays a tree.
///
/// Returns: `co_await view` gives `const T&` into the fork's frame (T itself for a reference, nothing for void), or
/// throws its error.
/// Stops: the await is a stop point and loses nothing; a stopped fork stops each coroutine that awaits a view of it.
/// Threads: copies may be used by different threads. Lifetime: the frame lives as long as the handle or a view of it,
/// so the environment's memory resource must outlive the views; the value is valid while this view or a copy is.
/// Costs: an atomic addition a copy; no allocation.
template <typename T>
class fork_view {
public:
    fork_view(const fork_view& other) noexcept : control_(other.control_) {
        if (control_ != nullptr) detail::promise_base::share(*control_, 1);
    }
    fork_view(fork_view&& other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
    fork_view& operator=(fork_view other) noexcept {
        std::swap(control_, other.control_);
        return *this;
    }
    ~fork_view() {
        if (control_ != nullptr) detail::promise_base::drop_reference(*control_);
    }

    [[nodiscard]] bool done() const noexcept { return control().done(); }

    detail::view_awaiter<T> await_in(detail::promise_base& p, std::source_location where) const noexcept {
        return detail::view_awaiter<T>(p, *this, where);
    }
    detail::view_outcome_awaiter<T> await_outcome_in(detail::promise_base& p,
                                                     std::source_location where) const noexcept {
        return detail::view_outcome_awaiter<T>(p, *this, where);
    }

private:
    template <typename, typename>
    friend class detail::owned_handle;
    friend class detail::view_awaiter<T>;
    friend class detail::view_outcome_awaiter<T>;
    explicit fork_view(detail::frame_control& c) noexcept : control_(&c) {}

    [[nodiscard]] detail::frame_control& control() const noexcept {
        COFLUX_VERIFY(control_ != nullptr, "a fork_view was used after it was moved from");
        return *control_;
    }

    detail::frame_control* control_;
};

}  // namespace coflux
