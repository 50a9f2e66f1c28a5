// The subject of a check: an executor and, where it does not run by itself, how to run it.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <source_location>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>

namespace coflux::testing::detail {

template <typename S>
auto& executor_of(S& subject) noexcept {
    if constexpr (requires { subject.executor(); }) {
        return subject.executor();
    } else {
        return subject;
    }
}
template <typename S>
using executor_type = std::remove_reference_t<decltype(executor_of(std::declval<S&>()))>;

/// True for what runs nothing unless a call asks it to.
template <typename S>
inline constexpr bool is_driven = requires(S& s) { s.drive(); } || requires(S& s) { s.run_all(); };
/// True for what belongs to one thread.
template <typename S>
inline constexpr bool one_thread_only = requires { requires S::one_thread_only; };

template <typename S>
void drive(S& subject) {
    if constexpr (requires { subject.drive(); }) {
        subject.drive();
    } else if constexpr (requires { subject.run_all(); }) {
        subject.run_all();
    }
}

/// Runs the subject, or lets it run, until `done()`; false when patience is at an end.
template <typename S, typename F>
bool wait_until(S& subject, std::chrono::milliseconds patience, F done) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (;;) {
        drive(subject);
        if (done()) return true;
        if (std::chrono::steady_clock::now() > give_up) return false;
        std::this_thread::yield();
    }
}

/// A thread's own notes, for laws about stacks.
struct on_this_stack {
    int in_execute = 0;  // calls of execute() below
    int resumed = 0;     // resumptions below
    static on_this_stack& here() noexcept;
};

/// A frame in place of a coroutine where an executor is checked: it may be resumed twice, and it knows from where.
/// Begins as a coroutine frame of either compiler does.
struct marked_frame {
    void (*resume)(void*) = &run;
    void (*destroy)(void*) = &run;
    void (*body)(marked_frame& self) noexcept = nullptr;  ///< what the coroutine does
    void* given = nullptr;                                ///< for the body
    // Written by the resuming thread; release pairs with the acquire of the counting one.
    std::atomic<std::size_t> resumed{0};
    std::atomic<bool> inside_execute{false};  // true: it was once resumed inside a call of execute
    std::atomic<bool> on_a_coroutine{false};  // true: it was once resumed on the stack of another

    marked_frame() noexcept = default;
    marked_frame(const marked_frame&) = delete;
    marked_frame& operator=(const marked_frame&) = delete;

    [[nodiscard]] std::coroutine_handle<> handle() noexcept { return std::coroutine_handle<>::from_address(this); }
    [[nodiscard]] std::size_t times() const noexcept { return resumed.load(std::memory_order_acquire); }

private:
    static void run(void* frame) noexcept;
};

/// A call of execute() that the coroutines resumed inside it know of.
template <typename E>
void execute_marked(E& executor, std::coroutine_handle<> h) noexcept {
    on_this_stack& here = on_this_stack::here();
    ++here.in_execute;
    executor.execute(h);
    --on_this_stack::here().in_execute;
}

/// Keeps an object that could not be brought to an end, and so cannot be destroyed.
void keep_for_ever(std::shared_ptr<void> what);

/// A subject with an environment, for coroutines.
template <typename S>
struct staged {
    template <typename Make>
    explicit staged(Make& make) : subject(make()) {}

    S subject;
    decltype(make_environment(executor_of(std::declval<S&>()))) env = make_environment(executor_of(subject));
};

/// A thing that coroutines on `E` use.
template <typename Thing, typename E>
struct room {
    template <typename Make, typename... Args>
    explicit room(Make& make, Args... args) : thing(make()),
                                              subject(args...) {}

    Thing thing;
    E subject;
    decltype(make_environment(std::declval<E&>())) env = make_environment(subject);
};

/// The result of an await of `A`.
template <typename A>
using awaited_result = decltype(coflux::detail::bind_await(std::declval<coflux::detail::promise_base&>(),
                                                           std::declval<A>(), std::source_location{})
                                    .await_resume());

/// Lets the roots end; those that do not are stopped, and if one does not even stop, all stay for ever with what they
/// need. True if all ended by themselves.
template <typename Stage, typename Task>
bool all_end(std::shared_ptr<Stage> stage, std::vector<Task>& roots, std::chrono::milliseconds patience) {
    const auto done = [&] {
        for (const Task& t : roots)
            if (!t.done()) return false;
        return true;
    };
    if (wait_until(stage->subject, patience, done)) return true;
    for (Task& t : roots) t.request_stop();
    if (!wait_until(stage->subject, patience / 10, done)) {
        keep_for_ever(std::make_shared<std::vector<Task>>(std::move(roots)));
        keep_for_ever(stage);
        roots.clear();
    }
    return false;
}
template <typename Stage, typename Task>
bool ends(std::shared_ptr<Stage> stage, Task& root, std::chrono::milliseconds patience) {
    std::vector<Task> roots;
    roots.push_back(std::move(root));
    const bool ended = all_end(stage, roots, patience);
    if (!roots.empty()) root = std::move(roots.front());
    return ended;
}

}  // namespace coflux::testing::detail
