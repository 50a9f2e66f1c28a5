// task: a root coroutine, owned by its handle.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/start.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/fwd.hpp>

namespace coflux {
namespace detail {

/// Blocks the calling thread until the coroutine has ended. A checked error on a thread that runs coroutines (law 9).
/// Only a thread_driver throws.
void block_until_done(frame_control& c, bool may_throw = true);
/// The destructor of a task.
void end_of_task_handle(frame_control& c) noexcept;

}  // namespace detail

/// An eager root: it starts in the call that makes it, on its executor; the lazy type is `call`.
///
/// It is made in an environment object, and its handle owns it. The tasks of P3552 and of folly are lazy, as `call` is.
///
/// Shapes: as fork. Move-only.
/// Returns: get() gives the value and join() nothing; both block the calling thread until the task and everything below
/// it has ended, and throw its error. Inside a coroutine a task is awaited like a fork; it never blocks there.
/// Errors: a blocking call on a thread that runs coroutines is a checked error; get() of a task that was stopped throws
/// task_stopped. The destructor of a root waits for it, and hands an error that was never observed to the environment's
/// handler.
/// Threads: the handle belongs to one thread at a time.
/// Costs: those of a fork, and a queue between threads if it is made outside its executor.
/// Lifetime: must not outlive its environment. An assignment ends what the handle had as the destructor does.
template <typename T, typename Executor>
class COFLUX_IN_REGISTER
    [[nodiscard("a task that is not kept is waited for at the end of this statement: keep the handle")]] task
    : public detail::owned_handle<task<T, Executor>, T, detail::start_kind_of<Executor>> {
    static_assert(detail::names_executor<Executor>, "coflux: the second argument of task is not an executor");
    using base = detail::owned_handle<task<T, Executor>, T, detail::start_kind_of<Executor>>;

public:
    /// Names no coroutine, as that of a fork.
    task() noexcept = default;
    task(task&&) noexcept = default;
    task& operator=(task&& other) noexcept {
        task moved(std::move(other));  // what this one held dies with it
        this->swap(moved);
        return *this;
    }
    ~task() {
        if (!this->is_empty()) detail::end_of_task_handle(this->used());
    }

    /// Blocks until the task has ended, then gives its value once.
    T get() && {
        detail::frame_control& c = this->checked();
        detail::block_until_done(c);
        if (c.word.end() == detail::ending::stopped) throw_stopped();
        return detail::consume<T>(this->release());
    }
    T get() & { return std::move(*this).get(); }

    /// Blocks until the task has ended; throws its error, and lets the value be. A stopped task is no error.
    void join() {
        detail::frame_control& c = this->checked();
        detail::block_until_done(c);
        if (c.word.end() == detail::ending::error) detail::consume_error(this->release());
    }

private:
    template <typename, typename, typename, typename...>
    friend class detail::owned_promise;
    explicit task(detail::frame_control& c) noexcept : base(c) {}

    [[noreturn]] void throw_stopped();
};

template <typename T, typename Executor>
void task<T, Executor>::throw_stopped() {
    detail::promise_base::consumed(this->release());
    throw task_stopped();
}

}  // namespace coflux

template <typename T, typename Executor, typename... Args>
struct std::coroutine_traits<coflux::task<T, Executor>, Args...> {
    using promise_type = coflux::detail::owned_promise<coflux::task<T, Executor>, T, Executor, Args...>;
};

template <typename T, typename Executor>
struct std::tuple_size<coflux::task<T, Executor>> : coflux::detail::size_before_await<coflux::task<T, Executor>> {};
