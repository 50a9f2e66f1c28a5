// How tests of threads wait; a hang becomes a failure that says what hung.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace coflux_test {

/// Aborts the process unless it dies first. The bound lies far above what a slow machine needs, and below ctest's own.
class watchdog {
public:
    explicit watchdog(const char* what) : thread_([this, what] { watch(what); }) {}
    ~watchdog() {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            ended_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    void watch(const char* what) {
        std::unique_lock<std::mutex> guard(lock_);
        if (changed_.wait_for(guard, std::chrono::seconds(300), [this] { return ended_; })) return;
        std::fprintf(stderr, "hangs: %s\n", what);
        std::abort();
    }

    std::mutex lock_;
    std::condition_variable changed_;
    bool ended_ = false;
    std::thread thread_;
};

/// Waits, with the processor for the other threads, until `is_so()`.
template <typename Condition>
void until(Condition is_so) {
    while (!is_so()) std::this_thread::yield();
}

}  // namespace coflux_test
