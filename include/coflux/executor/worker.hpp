// worker_executor: one thread that runs its coroutines one at a time. worker_group: several of them, each a type.
#pragma once

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <coflux/core/executor.hpp>

namespace coflux {

namespace detail {
class worker_thread;
}  // namespace detail

/// How a worker is made.
struct worker_options {
    std::string name = "coflux-worker";  ///< of the thread; the system cuts it to 15 characters
    /// The thread runs on this one of the processors that the process may use, counted from 0, modulo their number.
    std::optional<std::size_t> pin = std::nullopt;
    /// How long the worker keeps looking for work before it parks, at most; as thread_pool_options::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    /// How near the next deadline must be for it to keep looking; as thread_pool_options::timer_spin.
    std::chrono::nanoseconds timer_spin = std::chrono::nanoseconds(0);
    /// How long it is parked before it gives the memory of freed frames back; as thread_pool_options::keep_memory.
    std::chrono::nanoseconds keep_memory = std::chrono::seconds(1);
};

/// One thread that runs coroutines, one at a time.
///
/// Coroutines that are posted to it run in the order of the posts. Those that it makes on itself, coroutines that go on
/// there, and what other threads post, have their turns one after the other. A fork that its maker awaits as the newest
/// runs in that await, as on a pool.
///
/// Shapes: owns its thread. Movable; moving does not disturb what runs. The destructor runs what is queued, then ends
/// the thread.
/// Errors: std::system_error when the system has no more threads. A coroutine that still sleeps on it when it ends, or
/// is to go on upon it later, is a checked error that names it.
/// Threads: execute() from any thread. Coroutines of one worker never run at the same time.
/// Costs: 3 ns to queue from its own thread; from another one a lock, and a system call where it is parked.
/// Lifetime: outlives the environments that name it; not destroyed on its own thread.
class worker_executor {
public:
    worker_executor();
    explicit worker_executor(worker_options options);
    worker_executor(worker_executor&&) noexcept;
    worker_executor& operator=(worker_executor&&) noexcept;
    ~worker_executor();

    /// Queues `h`.
    void execute(std::coroutine_handle<> h) noexcept;

    /// An object that was moved to is the same thread.
    [[nodiscard]] void* identity() const noexcept;
    /// execute() by identity: what environments use, so that the object may be moved while they name it.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept;

private:
    detail::worker_thread* thread_;  // its own; nullptr: moved from
};
static_assert(executor<worker_executor>);

/// `N` workers, each an executor of a type of its own: `fork<T, worker_group<3>::worker<1>>` runs on the second.
///
/// Shapes: `make_environment(group.get<0>(), group.get<1>(), …)` names those that its coroutines use.
/// Errors, Threads, Lifetime: as worker_executor.
template <std::size_t N>
class worker_group {
    static_assert(N > 0, "coflux: a worker_group has at least one worker");

public:
    /// One of the threads, counted from 0.
    template <std::size_t I>
    class worker {
        static_assert(I < N, "coflux: the workers of a worker_group are counted from 0 to N - 1");

    public:
        explicit worker(worker_executor& on) noexcept : identity_(on.identity()) {}

        /// Queues `h`.
        void execute(std::coroutine_handle<> h) noexcept { worker_executor::execute_on(identity_, h); }
        [[nodiscard]] void* identity() const noexcept { return identity_; }
        /// execute() by identity.
        static void execute_on(void* identity, std::coroutine_handle<> h) noexcept {
            worker_executor::execute_on(identity, h);
        }

    private:
        void* identity_;
    };

    /// Threads are called name-0, name-1, …; with a processor to pin to, each thread has the next one.
    explicit worker_group(worker_options options = {}) : worker_group(options, std::make_index_sequence<N>()) {}

    /// The I-th, as an executor: a copy of it is the same thread.
    template <std::size_t I>
    [[nodiscard]] worker<I> get() noexcept {
        return worker<I>(workers_[I]);
    }
    /// Number of threads.
    [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }

private:
    template <std::size_t... I>
    worker_group(const worker_options& options, std::index_sequence<I...>)
        : workers_{worker_executor(of_worker(options, I))...} {}

    static worker_options of_worker(worker_options options, std::size_t i) {
        options.name += '-' + std::to_string(i);
        if (options.pin) *options.pin += i;
        return options;
    }

    std::array<worker_executor, N> workers_;
};

}  // namespace coflux
