// Executors as a user would write them.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>

#include <coflux/core/executor.hpp>
#include <coflux/testing/manual_executor.hpp>

namespace coflux_test {

using coflux::testing::manual_executor;

/// One std::thread with a queue; the destructor runs what is queued.
class thread_executor {
public:
    thread_executor() : thread_([this] { serve(); }) {}
    thread_executor(const thread_executor&) = delete;
    thread_executor& operator=(const thread_executor&) = delete;
    ~thread_executor() {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            ends_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

    void execute(std::coroutine_handle<> h) noexcept {
        // Notified under the lock: the last coroutine may let the owner destroy this object.
        const std::lock_guard<std::mutex> guard(lock_);
        queue_.push_back(h);
        changed_.notify_one();
    }
    [[nodiscard]] std::thread::id id() const noexcept { return thread_.get_id(); }

private:
    void serve() {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            changed_.wait(guard, [this] { return ends_ || !queue_.empty(); });
            if (queue_.empty()) return;
            const std::coroutine_handle<> next = queue_.front();
            queue_.pop_front();
            guard.unlock();
            next.resume();
            guard.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> queue_;
    bool ends_ = false;
    std::thread thread_;  // last: it uses the members above
};
static_assert(coflux::executor<thread_executor>);

}  // namespace coflux_test
