// manual_executor: resumes only when the test says so.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <stdexcept>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/task.hpp>

namespace coflux::testing {

/// The exception of manual_executor::run() for a root that waits for something that no coroutine does.
class stalled_error : public std::runtime_error {
public:
    stalled_error() : std::runtime_error("coflux: nothing is queued any more, and the root has not ended") {}
};

/// Keeps what it is given in a queue, and resumes it on the thread that calls run_one() or run_all(), first in, first
/// out.
///
/// Threads: execute() from any; the other members from the test's.
/// Lifetime: as every executor; what is still queued when it dies is never resumed.
class manual_executor {
public:
    manual_executor() = default;
    manual_executor(const manual_executor&) = delete;
    manual_executor& operator=(const manual_executor&) = delete;

    void execute(std::coroutine_handle<> h) noexcept {
        const coflux::detail::lock_guard<coflux::detail::mutex> guard(lock_);
        queue_.push_back(h);
        ++executed_;
    }
    /// Resumes the oldest; false if there is none.
    bool run_one() {
        std::coroutine_handle<> next;
        {
            const coflux::detail::lock_guard<coflux::detail::mutex> guard(lock_);
            if (queue_.empty()) return false;
            next = queue_.front();
            queue_.pop_front();
        }
        if (before_step_) before_step_();
        next.resume();
        return true;
    }
    /// Resumes until nothing is queued; returns how many it resumed.
    std::size_t run_all() {
        std::size_t resumed = 0;
        while (run_one()) ++resumed;
        return resumed;
    }
    /// Runs until nothing is queued, and gives what `root` gives.
    /// Errors: the root's own; stalled_error if it has not ended then: it is stopped. A root that does not even end by
    /// a stop is a checked error, because its handle would wait for ever.
    template <typename T>
    T run(task<T, manual_executor> root) {
        run_all();
        if (!root.done()) {
            root.request_stop();
            run_all();
            COFLUX_VERIFY(root.done(), "a root waits for something that never comes, and a stop does not end it");
            try {
                root.join();
            } catch (...) {
                // It is the stall that the test must hear of; the join has observed what came of the stop.
            }
            throw stalled_error();
        }
        return root.get();
    }
    /// How many are queued.
    [[nodiscard]] std::size_t pending() const {
        const coflux::detail::lock_guard<coflux::detail::mutex> guard(lock_);
        return queue_.size();
    }
    /// How often execute() was called.
    [[nodiscard]] std::size_t executed() const {
        const coflux::detail::lock_guard<coflux::detail::mutex> guard(lock_);
        return executed_;
    }
    /// Calls `before` ahead of each resumption: a step, for inject(). It may request stops and wake waiters; they are
    /// queued.
    void on_step(std::function<void()> before) { before_step_ = std::move(before); }

private:
    mutable coflux::detail::mutex lock_;  // guards the two that follow
    std::deque<std::coroutine_handle<>> queue_;
    std::size_t executed_ = 0;
    std::function<void()> before_step_;
};
static_assert(executor<manual_executor>);

}  // namespace coflux::testing
