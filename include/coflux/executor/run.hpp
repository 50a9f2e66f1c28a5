// run: a main function that is a coroutine.
#pragma once

#include <chrono>
#include <concepts>
#include <memory_resource>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/core/environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/executor/thread_pool.hpp>

namespace coflux {

/// How a program is run.
struct run_options {
    thread_pool_options pool{};  ///< by default as many workers as the process may use processors
    /// SIGINT and SIGTERM request a stop of the program, and the second of them ends the process (stop_on_signals).
    bool handle_signals = true;
    /// One that comes within this time of the first is the same request, and does nothing.
    std::chrono::nanoseconds second_signal_after = std::chrono::seconds(1);
    /// Where frames come from; nullptr: the frame pool. It outlives the call.
    std::pmr::memory_resource* memory = nullptr;
};

namespace detail {

template <typename Result>
inline constexpr bool is_program = false;
template <typename T, typename Executor>
inline constexpr bool is_program<task<T, Executor>> =
    (std::same_as<T, int> || std::is_void_v<T>) &&
    (std::same_as<Executor, thread_pool_executor> || std::same_as<Executor, inherit_executor>);

template <typename Program, typename... Args>
consteval bool check_program() {
    constexpr bool callable = std::is_invocable_v<Program&, environment&, Args...>;
    static_assert(callable,
                  "coflux: run(program, args...) calls program(environment&, args...) with copies of args, moved, and "
                  "program cannot be called with these");
    if constexpr (callable) {
        constexpr bool fits = is_program<std::invoke_result_t<Program&, environment&, Args...>>;
        static_assert(fits,
                      "coflux: run takes a function that returns coflux::task<int, coflux::thread_pool_executor>, the "
                      "program's exit status, or coflux::task<void, coflux::thread_pool_executor>");
        return fits;
    } else {
        return false;
    }
}

/// A program with its arguments, without its type.
class program {
public:
    /// Runs it to its end in `env`; its exit status, none if it was stopped.
    /// Errors: those of the program.
    virtual std::optional<int> run_in(environment& env) = 0;

protected:
    ~program() = default;
};

template <typename Function, typename... Args>
class program_of final : public program {
public:
    explicit program_of(Function& function, Args&... args) noexcept : function_(function), args_(args...) {}
    std::optional<int> run_in(environment& env) override {
        auto root = std::apply([&](Args&... args) { return function_(env, std::move(args)...); }, args_);
        root.join();  // throws an error, and does not say whether there is a value
        try {
            if constexpr (std::is_void_v<decltype(std::move(root).get())>) {
                std::move(root).get();
                return 0;
            } else {
                return std::move(root).get();
            }
        } catch (const task_stopped&) {
            return std::nullopt;
        }
    }

private:
    Function& function_;
    std::tuple<Args&...> args_;
};

int run_program(run_options options, program& p);

template <typename Program, typename... Args>
int run_with(run_options options, Program& function, Args&... args) {
    if constexpr (check_program<Program, Args...>()) {
        program_of<Program, Args...> p(function, args...);
        return run_program(std::move(options), p);
    } else {
        return 1;
    }
}

}  // namespace detail

/// Runs a program that is a coroutine, on a thread pool of its own: `int main() { return coflux::run(program); }`,
/// where `program` is a `coflux::task<int, coflux::thread_pool_executor> program(coflux::environment& env)`.
///
/// SIGINT (Ctrl-C) and SIGTERM request its stop. The second of them, if it comes run_options::second_signal_after the
/// first, ends the process by its default action, as the first does once the program has ended.
///
/// Shapes: `program` is a function or a lambda without captures, which returns a task of int or of void; `args` are
/// passed on to it, `argc` and `argv` say.
/// Returns: the exit status for main(): what the program returns, 0 for void. After an error 1, and stderr has `error:`
/// with what it says, what it was nested in, the last await of the program, and the errors that came with it; so it is
/// where there are no threads, or no memory. After a stop 128 and the number of the signal; 1, and a sentence on
/// stderr, if no signal had come.
/// Errors: none but what the copies of `program` and `args` throw. A second run() or stop_on_signals at the same time
/// is a checked error, unless one of them leaves the signals alone.
/// Stops: the program, as any coroutine is stopped; a program that ends with a value nevertheless has its own status,
/// if the signal cut off no child of it, or after environment::finish_with_value().
/// Threads: one that runs no coroutines; it is blocked.
/// Costs: the threads of the pool, and one that waits for signals.
/// Example: examples/33_run_main.cpp
template <typename Program, typename... Args>
[[nodiscard("it is the exit status of the program: return it from main")]] int run(run_options options, Program program,
                                                                                   Args... args) {
    return detail::run_with(std::move(options), program, args...);
}
template <typename Program, typename... Args>
    requires(!std::same_as<Program, run_options> && !std::is_base_of_v<environment, Program>)
[[nodiscard("it is the exit status of the program: return it from main")]] int run(Program program, Args... args) {
    return detail::run_with(run_options{}, program, args...);
}

}  // namespace coflux
