// run_loop: an executor that its user drives.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <coflux/core/executor.hpp>
#include <coflux/core/task.hpp>

namespace coflux {

namespace detail {
class run_loop_state;
}  // namespace detail

/// Runs coroutines on the thread that calls its members: that of a user interface, a game, another library's loop.
///
/// Coroutines that are posted to it run in the order of the posts, one at a time, as on a worker_executor; a fork that
/// its maker awaits as the newest, in that await. Timers of its coroutines belong to it, and come due while it runs.
/// Between two calls nothing runs: a thread that then blocks in `get()` or `join()` of a task of the loop waits for
/// itself; run(task) is what it wants.
///
/// Shapes: not movable.
/// Errors: std::bad_alloc. A call of a member that runs, inside a coroutine or beside another such call, is a checked
/// error; so is a coroutine that still waits on the loop when it ends, or is to go on upon it later.
/// Threads: execute() and stop() from any; the other members from one at a time.
/// Costs: a post from another thread takes a lock, and a system call where the loop waits.
/// Lifetime: outlives the environments that name it.
/// Source: io_context of Boost.Asio.
class run_loop {
public:
    run_loop();
    ~run_loop();
    run_loop(const run_loop&) = delete;
    run_loop& operator=(const run_loop&) = delete;

    /// Queues `h`.
    void execute(std::coroutine_handle<> h) noexcept;

    /// Runs, and waits for more, until stop().
    /// Returns: how many resumptions those were, as all of these; forks that began in their awaiters' awaits among
    /// them.
    std::size_t run();
    /// Runs until `root` has ended, whatever else waits. A stop() does not end it: the task would be left.
    /// Returns: the task's result.
    /// Errors: those of get().
    template <typename T, typename E>
    decltype(auto) run(task<T, E> root) {
        const auto wake = [this](const auto&...) noexcept { look_again(); };  // get() waits until it has returned
        root.on_value(wake);
        root.on_error(wake);
        root.on_stopped(wake);
        run_while(&is_unfinished<task<T, E>>, &root);
        return root.get();
    }
    /// Waits until it has resumed one, or until stop().
    /// Returns: 1, or 0 after a stop().
    std::size_t run_one();
    /// Runs, and waits for more, for so long at most, or until stop().
    std::size_t run_for(std::chrono::nanoseconds time);
    std::size_t run_until(std::chrono::steady_clock::time_point time);
    /// Runs what is ready, and what that makes ready, without waiting. It takes a millisecond and a step at most, so
    /// that the caller's other work has its turn; descriptor() is readable if there is more.
    std::size_t poll();
    /// Resumes one that is ready; 0: none is.
    std::size_t poll_one();

    /// The call that runs returns: after the coroutine that calls this, or, where another thread does, after what it
    /// resumes in one go, which are at most 61. If no call runs, the next one returns at once. run(task) leaves the
    /// stop to the next one.
    /// Threads: any. The loop may end while the call that made it return has not returned.
    void stop() noexcept;

    /// When the loop wants to run although no other thread posts to it: its next timer. time_point::min(): at once;
    /// nothing: it waits for posts.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_deadline() const noexcept;
    /// A descriptor for poll(2), epoll and their like: readable while poll() would find something, a post or a timer.
    /// It is the loop's own; do not read it. After it said so, call poll(). It is readable at first.
    /// Errors: std::system_error when the system has none.
    [[nodiscard]] int descriptor();

    [[nodiscard]] void* identity() const noexcept;
    /// execute() by identity: what environments use.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept;

private:
    template <typename Task>
    static bool is_unfinished(const void* root) noexcept {
        return !static_cast<const Task*>(root)->done();
    }
    void run_while(bool (*goes_on)(const void*) noexcept, const void* root);
    void look_again() noexcept;

    std::unique_ptr<detail::run_loop_state> state_;
};
static_assert(executor<run_loop>);

}  // namespace coflux
