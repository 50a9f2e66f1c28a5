// The parts of the shapes of this folder: a coroutine type of few lines, so that a wrong answer is the compiler's,
// awaitables that do and do not suspend, an object that detects when it is destroyed twice, and a main that runs each
// shape in a process of its own, because some of them crash. Without a thread, and with nothing of Coflux.
#pragma once

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shapes {

struct suspends_never {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
};

/// A coroutine that begins when it is awaited and goes on with its awaiter, by symmetric transfer.
template <typename T>
class [[nodiscard]] task {
public:
    struct promise_type {
        std::optional<T> value;
        std::exception_ptr error;
        std::coroutine_handle<> awaiter = std::noop_coroutine();

        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        struct finishing {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
                return h.promise().awaiter;
            }
            void await_resume() const noexcept {}
        };
        finishing final_suspend() const noexcept { return {}; }
        template <typename U>
        void return_value(U&& v) {
            value.emplace(std::forward<U>(v));
        }
        void unhandled_exception() noexcept { error = std::current_exception(); }
    };

    explicit task(std::coroutine_handle<promise_type> h) noexcept : frame_(h) {}
    task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task& operator=(task&&) = delete;
    ~task() {
        if (frame_) frame_.destroy();
    }
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        frame_.promise().awaiter = h;
        return frame_;
    }
    T await_resume() const {
        if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
        return std::move(*frame_.promise().value);
    }
    std::coroutine_handle<promise_type> frame() const noexcept { return frame_; }

private:
    std::coroutine_handle<promise_type> frame_;
};

inline std::coroutine_handle<> waiting;  // the coroutine suspended in later()

/// Gives `v` after a suspension.
template <typename T>
struct later {
    explicit later(T v) : value(std::move(v)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { waiting = h; }
    T await_resume() { return std::move(value); }
    T value;
};
template <typename T>
struct at_once {
    explicit at_once(T v) : value(std::move(v)) {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    T await_resume() { return std::move(value); }
    T value;
};

template <typename T>
T run(task<T> t) {
    t.frame().resume();
    while (waiting) std::exchange(waiting, nullptr).resume();
    return t.await_resume();
}

/// Counts its kind; one that dies without having been born there, as a bitwise copy does or one that dies twice, counts
/// as lost.
class probe {
public:
    explicit probe(int v = 0) noexcept : value_(v), self_(this) { ++born; }
    probe(const probe& other) noexcept : value_(other.value_), self_(this) {
        ++born;
        ++copies;
    }
    probe(probe&& other) noexcept : value_(other.value_), self_(this) {
        ++born;
        ++moves;
    }
    probe& operator=(const probe&) = delete;
    ~probe() {
        ++died;
        if (self_ != this) ++lost;
        self_ = nullptr;
    }
    int value() const noexcept { return value_; }

    static bool balanced() noexcept { return born == died && lost == 0; }
    static inline int born = 0;
    static inline int died = 0;
    static inline int lost = 0;
    static inline int copies = 0;
    static inline int moves = 0;

private:
    int value_;
    const probe* self_;
};

/// Small enough that a recursion per await shows itself.
inline void limit_stack() {
    const rlimit small{1U << 20, 1U << 20};
    setrlimit(RLIMIT_STACK, &small);
}

struct shape {
    const char* name;
    bool (*works)();
};

/// Prints `<name> right` or `<name> wrong` for each.
template <std::size_t N>
int run_shapes(const shape (&all)[N]) {
    for (const shape& s : all) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            (void)std::freopen("/dev/null", "w", stderr);  // what a sanitizer says of a shape that is known to be wrong
            const rlimit seconds{20, 20};                  // of the processor's time: a machine may be busy
            setrlimit(RLIMIT_CPU, &seconds);
            bool right = false;
            try {
                right = s.works() && probe::balanced();
            } catch (...) {}
            _exit(right ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        std::printf("%s %s\n", s.name, status == 0 ? "right" : "wrong");
    }
    return 0;
}

}  // namespace shapes
