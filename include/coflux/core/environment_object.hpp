// The environments that make_environment returns, without the types of their executors.
#pragma once

#include <concepts>
#include <coroutine>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/scope/deadline_hook.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {

/// A root or derived environment: owns what is made in it until join() or until its handles took it.
///
/// Errors: destroying one with live children is a checked error that names them.
/// Threads: children may be made by any thread.
/// Lifetime: not movable; outlives its children.
class environment_object : public environment {
    class join_awaiter;
    class join_outcome_awaiter;
    using join_request = detail::request<join_awaiter, environment_object&>;

public:
    /// Waits for everything made in this environment; then throws the first unobserved error.
    /// Stops: the children are stopped with the awaiting coroutine, and joined. One that joins the environment of
    /// another coroutine, as the operation of a timeout() does, passes its stop on. Where such a stop cut children off,
    /// the awaiting coroutine is then stopped; as_outcome() gives that as an outcome, and after finish_with_value() it
    /// goes on. Otherwise it is no stop point. Children that request_stop() or the deadline of this environment
    /// stopped, or a request of their own, are not cut off.
    [[nodiscard("what is made in an environment must end before it: co_await join()")]] join_request join() noexcept {
        return join_request(*this);
    }

    /// Replaces what is called with the error of a root whose handle died unobserved; nullptr: print it and terminate.
    /// Errors of destructors, as that of a process or of a buffered_writer, go there, too; nullptr: print them.
    void on_unobserved_error(error_handler handler) noexcept { storage_.on_error = handler; }
    template <typename F>
        requires(!std::convertible_to<F, error_handler>)
    void on_unobserved_error(F) noexcept {
        static_assert(detail::never<F>,
                      "coflux: the handler of errors is a function or a lambda without captures that is "
                      "noexcept: [](const std::exception_ptr&) noexcept { … }");
    }

protected:
    explicit environment_object(environment* parent) noexcept : environment(storage_, parent) {
        if (parent == nullptr) return;
        const detail::environment_data& outer = detail::data_of(*parent);
        storage_.frames = outer.frames;
        storage_.frames_flags = outer.frames_flags;
        storage_.around = &outer;
        storage_.outer = outer.first.key != nullptr ? &outer : outer.outer;
        storage_.deadline = outer.deadline;
        storage_.on_error = outer.on_error;
        data_ = detail::data_ref::of_object(storage_, storage_.frames == nullptr);
        if (detail::is_lender(*parent)) mark_as_lender();
    }
    ~environment_object() = default;

    /// Before the first child: what children borrow outlives them, whatever becomes of their handles.
    void mark_as_lender() noexcept { marks_.store(is_object | lender, detail::memory_order_relaxed); }

    /// Before the first child: its frames come from `memory`.
    void use(std::pmr::memory_resource& memory) noexcept {
        storage_.use(memory);
        data_ = detail::data_ref::of_object(storage_, storage_.frames == nullptr);
    }

    /// Everything is in place: from now on a deadline of its own acts.
    /// `by` is coflux_deadlines_act: the caller refers to it.
    void arm_deadline(const char& by);
    /// Checks that no child is alive; the last thing that happens before executors and storage go.
    void close() noexcept;

    friend class detail::scope_children;
    friend class detail::scope_failures;
    friend struct detail::layout_access;

    detail::environment_data storage_;
    detail::adaptive_lock children_lock_;                       // guards the list below
    detail::intrusive_list<detail::root_links> children_list_;  // children made in this object that have not ended
    const detail::frame_control* left_over_before_ = detail::this_thread.to_free;  // which close() does not free
    join_awaiter* joiner_ = nullptr;         // of the coroutine that waits in join(); set before the scope is closed
    bool stops_on_error_ = false;            // task_scope: an error that no await takes stops the children
    detail::failure* stopped_by_ = nullptr;  // the error that did, with a reference; set under the failures' guard
    void* armed_deadline_ = nullptr;         // what the layer of time gave for a deadline nearer than those above
};

/// Awaiter of environment_object::join().
class environment_object::join_awaiter {
public:
    using single_use = void;
    using never_throws = void;  // until all children have ended: no test point

    using on_outcome = join_outcome_awaiter;
    using may_stop_its_awaiter = void;

    join_awaiter(detail::promise_base& p, environment_object& of) noexcept : join_awaiter(p, of, false) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept;
    void await_resume();

protected:
    join_awaiter(detail::promise_base& p, environment_object& of, bool takes_stop) noexcept
        : of_(of),
          p_(&p),
          takes_stop_(takes_stop) {}
    /// After the wait: a stop cut children off, and is taken as an outcome.
    [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }

private:
    friend class detail::scope_children;
    friend struct detail::layout_access;

    static void request_stop(void* self, std::size_t) noexcept;
    static void go_on(void* self) noexcept;
    void end() noexcept;

    environment_object& of_;
    detail::promise_base* p_;
    detail::relay_if_needed relay_;
    bool takes_stop_;
    bool is_cut_off_ = false;
};

/// The await of join() as an outcome.
class environment_object::join_outcome_awaiter : private join_awaiter {
public:
    join_outcome_awaiter(detail::promise_base& p, environment_object& of) noexcept : join_awaiter(p, of, true) {}
    using join_awaiter::await_ready;
    using join_awaiter::await_suspend;
    outcome<void> await_resume() noexcept;
};

}  // namespace coflux
