// The environments that make_environment returns, without the types of their executors.
#pragma once

#include <coroutine>
#include <source_location>

#include <coflux/base/spin_lock.hpp>
#include <coflux/core/deadline_hook.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/promise_base.hpp>

namespace coflux {

/// A root or derived environment: owns what is made in it until join() or until its handles took it.
///
/// Errors: destroying one with live children is a checked error that names them.
/// Threads: children may be made by any thread. Lifetime: not movable; outlives its children.
class environment_object : public environment {
public:
    class join_awaiter;

    /// Waits for everything made in this environment; then throws the first error that nobody observed.
    /// Stops: not a stop point: the children are below the awaiting coroutine and are stopped with it.
    [[nodiscard("what is made in an environment must end before it: co_await join()")]] join_awaiter join() noexcept;

    /// Replaces what is called with the error of a root whose handle died unobserved; nullptr: print it and terminate.
    void on_unobserved_error(error_handler handler) noexcept { storage_.on_error = handler; }

protected:
    explicit environment_object(environment* parent) noexcept : environment(storage_, parent) {
        if (parent == nullptr) return;
        const detail::environment_data& outer = detail::data_of(*parent);
        storage_.frames = outer.frames;
        storage_.frames_flags = outer.frames_flags;
        storage_.outer = &outer;
        storage_.deadline = outer.deadline;
        storage_.on_error = outer.on_error;
        data_ = detail::data_ref::of_object(storage_, storage_.frames == nullptr);
    }
    ~environment_object() = default;

    /// Before the first child: its frames come from `memory`.
    void use(std::pmr::memory_resource& memory) noexcept {
        storage_.use(memory);
        data_ = detail::data_ref::of_object(storage_, storage_.frames == nullptr);
    }

    /// Everything is in place: from now on a deadline of its own acts.
    void arm_deadline();
    /// Checks that no child is alive; the last thing that happens before executors and storage go.
    void close() noexcept;

    friend struct detail::environment_access;

    detail::environment_data storage_;
    detail::spin_lock children_lock_;              // guards the list below
    detail::root_links* children_list_ = nullptr;  // children made in this object that have not ended
    detail::promise_base* joiner_ = nullptr;       // waits in join(); set before remaining_ is closed
    bool stops_on_error_ = false;                  // task_scope: an error that nobody waits for stops the children
    void* armed_deadline_ = nullptr;               // what the layer of time gave for a deadline nearer than those above
};

/// Awaiter of environment_object::join().
class environment_object::join_awaiter {
public:
    join_awaiter await_in(detail::promise_base& p, std::source_location where) && noexcept {
        p.awaits_at(where);
        return join_awaiter(of_, &p);
    }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept;
    void await_resume() const;

private:
    friend class environment_object;
    explicit join_awaiter(environment_object& of, detail::promise_base* p = nullptr) noexcept : of_(of), p_(p) {}

    environment_object& of_;
    detail::promise_base* p_;
};

}  // namespace coflux
