// Awaitables that Coflux does not know: they resume the handle that they were given, where and when they please.
#pragma once

#include <atomic>
#include <coroutine>
#include <thread>
#include <utility>

namespace coflux_test {

/// One waiter is resumed inside set(), on the thread that calls it.
class foreign_event {
public:
    foreign_event() = default;
    foreign_event(const foreign_event&) = delete;
    foreign_event& operator=(const foreign_event&) = delete;

    void set() noexcept {
        void* const waiting = state_.exchange(this, std::memory_order_acq_rel);
        if (waiting != nullptr && waiting != this) std::coroutine_handle<>::from_address(waiting).resume();
    }
    /// True once a coroutine is suspended in the await of this event.
    [[nodiscard]] bool has_waiter() const noexcept {
        void* const s = state_.load(std::memory_order_acquire);
        return s != nullptr && s != this;
    }

    bool await_ready() const noexcept { return state_.load(std::memory_order_acquire) == this; }
    bool await_suspend(std::coroutine_handle<> h) noexcept {
        void* none = nullptr;
        return state_.compare_exchange_strong(none, h.address(), std::memory_order_acq_rel);
    }
    void await_resume() const noexcept {}

private:
    std::atomic<void*> state_{nullptr};  // nullptr: not set; this: set; else the handle of the waiter
};

/// Each await resumes on a new std::thread; the threads are joined one by one and at the end.
class foreign_thread {
public:
    foreign_thread() = default;
    foreign_thread(const foreign_thread&) = delete;
    foreign_thread& operator=(const foreign_thread&) = delete;
    ~foreign_thread() {
        if (thread_.joinable()) thread_.join();
    }

    struct awaiter {
        foreign_thread& of;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> h) const {
            std::thread last = std::exchange(of.thread_, std::thread());
            of.thread_ = std::thread([h, before = std::move(last)]() mutable {
                if (before.joinable()) before.join();
                h.resume();
            });
        }
        int await_resume() const noexcept { return 42; }
    };
    awaiter operator co_await() noexcept { return {*this}; }

private:
    std::thread thread_;
};

}  // namespace coflux_test
