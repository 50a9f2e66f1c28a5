// An executor is anything with execute(handle): here a loop that main() runs itself, as a user interface would.
#include <coflux/coflux.hpp>

#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

/// Resumes coroutines on the thread that calls run_until().
class main_loop {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            queue_.push_back(h);
        }
        changed_.notify_one();
    }

    /// Runs until `task` has ended.
    template <typename Task>
    void run_until(Task& task) {
        // A task whose last child ends elsewhere ends there: so its end wakes the loop.
        const auto wake = [this]() noexcept { execute(std::noop_coroutine()); };
        task.on_value(wake);
        task.on_error([wake](const std::exception_ptr&) noexcept { wake(); });
        task.on_stopped(wake);
        while (!task.done()) take().resume();
    }

private:
    std::coroutine_handle<> take() {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return !queue_.empty(); });
        const std::coroutine_handle<> next = queue_.front();
        queue_.pop_front();
        return next;
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> queue_;
};

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> compute(coflux::environment&, int x) {
    co_return x* x;
}  // on the pool

coflux::task<void, main_loop> program(coflux::environment&, std::thread::id main_thread) {
    auto&& here = co_await coflux::context();
    for (int x = 1; x <= 3; ++x) {
        const int square = co_await compute(here, x);
        // Back on the main loop, so that a user interface could be touched here.
        std::printf("%d squared is %d, %s\n", x, square,
                    std::this_thread::get_id() == main_thread ? "on the main thread" : "elsewhere");
    }
}

int main() {
    main_loop loop;
    pool threads{2};
    auto env = coflux::make_environment(loop, threads);
    auto task = program(env, std::this_thread::get_id());
    loop.run_until(task);
    task.get();
}
