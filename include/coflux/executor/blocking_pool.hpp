// blocking: runs a function that blocks on a thread that may block.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <coflux/executor/detail/blocking_call.hpp>

namespace coflux {
namespace detail {
class open_directory_awaiter;
class open_file_awaiter;
class spawn_awaiter;
}  // namespace detail

/// How a blocking pool is made.
struct blocking_pool_options {
    /// How many threads there may be at a time, at least 1. A call that finds all of them busy waits for one. A thread
    /// that blocks costs its stack, some 20 KiB of memory; 64 keep a drive busy, and stay below the limits of small
    /// containers.
    std::size_t max_threads = 64;
    /// How long a thread without work stays. 0: it leaves at once; nanoseconds::max(): it stays as long as the pool.
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds(10);
    std::string name = "coflux-blocking";  ///< of each thread; the system cuts it to 15 characters
};

/// The state of a blocking pool at a moment.
struct blocking_pool_counters {
    std::size_t threads = 0;  ///< threads that exist, or are being started
    std::size_t idle = 0;     ///< of those, parked without work
    std::size_t queued = 0;   ///< calls that no thread has begun
};

/// `blocking(abandon_on_stop, f, args...)`: a stop does not wait for `f`.
struct abandon_on_stop_t {
    explicit abandon_on_stop_t() = default;
};
inline constexpr abandon_on_stop_t abandon_on_stop{};

/// A callable for blocking(): a function or function object without parameters.
template <typename F>
concept blocking_function = std::invocable<F> && (std::is_lvalue_reference_v<F> || std::move_constructible<F>);

/// Threads for functions that block: reading files, looking up names, calling a library that waits.
///
/// A thread is started when a call finds no idle one, up to a cap, and leaves when it has been idle for a time. The
/// thread that became idle last is taken first. Calls begin in the order in which they came.
///
/// Shapes: owns its threads; no executor, so no coroutine runs on it, unless it has no executor of its own.
/// Errors: std::invalid_argument for a cap of 0 or a negative time. A coroutine that calls on a pool that ends, and a
/// use in the child of a fork(), are checked errors.
/// Threads: all members from any.
/// Costs: parked threads cost their stacks. A call allocates nothing and costs what it takes to wake a thread, and the
/// coroutine again.
/// Lifetime: outlives the coroutines that call on it. The destructor waits for all calls, also for those that a stop
/// has abandoned. It must not run on one of the pool's threads.
/// Example: examples/32_blocking.cpp
class blocking_pool {
public:
    explicit blocking_pool(blocking_pool_options options = {});
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;
    ~blocking_pool();

    /// The pool of the process, with the default options. Made in the first call.
    ///
    /// Lifetime: from the end of main() on it takes no calls. The end of main() waits for the calls that coroutines
    /// wait for, and not for those that a stop has abandoned.
    [[nodiscard]] static blocking_pool& shared();

    /// `co_await pool.run(f)` calls `f()` on a thread of the pool, and gives the coroutine what it returns.
    ///
    /// Shapes: `f` has no parameters. An lvalue is called where it is; another is kept in what is awaited. It may refer
    /// to anything that outlives the await, locals of the coroutine too. Its result is void, a value, which is moved,
    /// or a reference. It may wait for a task by get(), and ask a stop_token of the coroutine.
    /// Returns: what `f` returns.
    /// Resumes: on the coroutine's own executor. A coroutine without one goes on upon the thread that called `f`.
    /// Errors: what `f` throws, also where a stop was requested. std::system_error if the system has no thread and the
    /// pool has none. std::bad_alloc in the first wait ever of a coroutine; then `f` is not called.
    /// Stops: a stop point. Before `f` begins: the coroutine stops, and `f` is not called. While `f` runs: the
    /// coroutine waits until it has ended, and then stops; what `f` returned is lost, what it threw is not.
    /// Threads: in a simulation `f` is called at once, on the thread of the simulation, where it must not wait for a
    /// task.
    /// Costs: no allocation.
    template <blocking_function F>
    detail::blocking_call<F> run(F&& f) {
        return detail::blocking_call<F>(threads_, std::forward<F>(f));
    }
    /// `co_await pool.run(abandon_on_stop, f, args...)` calls `f(args...)`, and lets the coroutine stop without waiting
    /// for that.
    ///
    /// Shapes: `f` is a function, or a function object or lambda without captures. `args` are copied, or moved, and
    /// passed to `f` as rvalues. They own what they show; pointers in them must stay valid.
    /// Errors: std::bad_alloc from the call, without effect. An exception of an abandoned `f` is lost.
    /// Stops: a stop point. While `f` runs: the coroutine stops at once, and `f` ends by itself; what it gives is lost.
    /// Threads: what an abandoned `f` returns, and its arguments, die on its thread.
    /// Costs: one allocation from the heap.
    template <typename F, typename... Args>
        requires std::invocable<std::decay_t<F>&, std::decay_t<Args>...>
    detail::abandonable_call<std::decay_t<F>, Args...> run(abandon_on_stop_t, F&& f, Args&&... args) {
        return detail::make_abandonable<std::decay_t<F>>(threads_, f, std::forward<Args>(args)...);
    }

    /// The state of the pool now.
    [[nodiscard]] blocking_pool_counters counters() const noexcept;

private:
    friend class detail::open_directory_awaiter;
    friend class detail::open_file_awaiter;
    friend class detail::spawn_awaiter;

    detail::blocking_threads* threads_;  // its own
};

/// `co_await blocking(f)` calls `f()` on a thread that may block, one of the process, and gives the coroutine what it
/// returns: blocking_pool::shared().run(f).
///
/// Shapes, Returns, Resumes, Errors, Stops, Threads, Costs: as blocking_pool::run.
/// Example: examples/32_blocking.cpp
template <blocking_function F>
detail::blocking_call<F> blocking(F&& f) {
    return blocking_pool::shared().run(std::forward<F>(f));
}
/// The same on a thread of `pool`.
template <blocking_function F>
detail::blocking_call<F> blocking(blocking_pool& pool, F&& f) {
    return pool.run(std::forward<F>(f));
}
template <typename F>
    requires(!blocking_function<F>)
auto blocking(F&&) {
    static_assert(detail::never<F>,
                  "coflux: blocking(f) calls f without arguments: write blocking([&] { return f(x); })");
}
template <typename F>
    requires(!blocking_function<F>)
auto blocking(blocking_pool&, F&&) {
    static_assert(detail::never<F>,
                  "coflux: blocking(pool, f) calls f without arguments: write blocking(pool, [&] { return f(x); })");
}
/// `co_await blocking(abandon_on_stop, f, args...)` calls `f(args...)`, and lets the coroutine stop without waiting for
/// that: as blocking_pool::run.
template <typename F, typename... Args>
    requires std::invocable<std::decay_t<F>&, std::decay_t<Args>...>
detail::abandonable_call<std::decay_t<F>, Args...> blocking(abandon_on_stop_t how, F&& f, Args&&... args) {
    return blocking_pool::shared().run(how, std::forward<F>(f), std::forward<Args>(args)...);
}
/// The same on a thread of `pool`.
template <typename F, typename... Args>
    requires std::invocable<std::decay_t<F>&, std::decay_t<Args>...>
detail::abandonable_call<std::decay_t<F>, Args...> blocking(blocking_pool& pool, abandon_on_stop_t how, F&& f,
                                                            Args&&... args) {
    return pool.run(how, std::forward<F>(f), std::forward<Args>(args)...);
}

}  // namespace coflux
