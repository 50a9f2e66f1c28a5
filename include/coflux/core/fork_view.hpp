// fork_view: a copyable look at a fork's or task's result.
#pragma once

#include <coroutine>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

/// The result of a view's await: a look at the value in the frame.
template <typename T>
using viewed =
    std::conditional_t<std::is_void_v<T>, void,
                       std::conditional_t<std::is_reference_v<T>, T, std::add_lvalue_reference_t<std::add_const_t<T>>>>;

struct shared_node;

/// A wait for the end of a shared frame, which a stop request can cut short. The frame's list has a node
/// beside it, because nothing leaves that list before the end; docs/design/fork_join.md has its states.
class shared_wait : private wait_operation {
protected:
    explicit shared_wait(promise_base& p) noexcept : wait_operation(p, kind) {}
    ~shared_wait() {
        if (node_ != nullptr) free_node(*node_);
    }
    using wait_operation::coroutine;

    /// Pre: the awaiting coroutine holds a reference to the frame until it resumes.
    std::coroutine_handle<> wait_for(frame_control& c);

private:
    friend struct shared_node;
    static bool claim(wait_operation& waiting) noexcept;
    static void free_node(shared_node& node) noexcept;
    static constexpr wait_kind kind{&claim, &stop_claimed, "a fork, by a view of it"};

    shared_node* node_ = nullptr;  // until it is claimed
};

template <typename T>
class [[nodiscard]] view_awaiter : private shared_wait {
public:
    view_awaiter(promise_base& p, fork_view<T> view) noexcept : shared_wait(p), view_(std::move(view)) {}

    [[nodiscard]] bool await_ready() const noexcept { return is_there() && goes_on(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
        if (is_there()) return let_others_run(coroutine());
        coroutine().clear_takes_stop();
        return wait_for(view_.control());
    }
    viewed<T> await_resume() {
        this_thread.current = &coroutine();
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
    [[nodiscard]] bool is_there() const noexcept {
        return view_.control().done() && view_.control().word.end() != ending::stopped;
    }

    fork_view<T> view_;
};

/// An await of a view as an outcome; the error then counts as observed.
template <typename T>
class [[nodiscard]] view_outcome_awaiter : private shared_wait {
public:
    view_outcome_awaiter(promise_base& p, fork_view<T> view) noexcept : shared_wait(p), view_(std::move(view)) {}

    [[nodiscard]] bool await_ready() const noexcept { return view_.control().done() && goes_on(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept {
        if (view_.control().done()) return let_others_run(coroutine());
        coroutine().control().word.set(frame_flags::takes_stop);
        try {
            return wait_for(view_.control());
        } catch (...) {  // no memory for a node; nothing has happened
            unavailable_ = std::current_exception();
            return transfer(h);
        }
    }
    outcome<viewed<T>> await_resume() noexcept {
        this_thread.current = &coroutine();
        coroutine().control().word.clear(frame_flags::takes_stop);
        if (unavailable_ != nullptr) [[unlikely]]
            return outcome<viewed<T>>(std::move(unavailable_));
        frame_control& c = view_.control();
        if (c.word.end() == ending::stopped) return stopped;
        if (c.word.end() == ending::error) {
            c.error->observe();
            return outcome<viewed<T>>(c.error->error());
        }
        if constexpr (std::is_void_v<T>) {
            return outcome<viewed<T>>(std::in_place);
        } else if constexpr (std::is_reference_v<T>) {
            return outcome<T>(std::in_place, promise_of<T>(c).result());
        } else {
            return outcome<viewed<T>>(std::in_place, detail::address_of(promise_of<T>(c).result()));
        }
    }

private:
    fork_view<T> view_;
    std::exception_ptr unavailable_;
};

}  // namespace detail

/// A copyable, read-only look at a fork's result: any number of coroutines may await it, so that a workflow can be a
/// DAG while ownership stays a tree.
///
/// Returns: `co_await view` gives `const T&` into the fork's frame (T itself for a reference, nothing for void), or
/// throws its error.
/// Stops: the await is a stop point, also while it waits, and loses nothing; a stopped fork stops each coroutine that
/// awaits a view of it.
/// Threads: copies may be used by different threads.
/// Costs: an atomic addition a copy; an await that must wait takes a node of 64 bytes from the frame pool.
/// Lifetime: the frame lives as long as the handle or a view of it, so the environment's memory resource must outlive
/// the views; the value is valid while this view or a copy is.
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

    [[nodiscard]] bool done() const noexcept { return control().has_ended(); }

private:
    friend struct detail::await_access;
    friend class detail::view_awaiter<T>;
    friend class detail::view_outcome_awaiter<T>;
    explicit fork_view(detail::frame_control& c) noexcept : control_(&c) {}

    detail::view_awaiter<T> await_in(detail::promise_base& p, std::source_location) const noexcept {
        return detail::view_awaiter<T>(p, *this);
    }
    detail::view_outcome_awaiter<T> await_outcome_in(detail::promise_base& p, std::source_location) const noexcept {
        return detail::view_outcome_awaiter<T>(p, *this);
    }

    [[nodiscard]] detail::frame_control& control() const noexcept {
        COFLUX_VERIFY(control_ != nullptr, "a fork_view was used after it was moved from");
        return *control_;
    }

    detail::frame_control* control_;
};

}  // namespace coflux
