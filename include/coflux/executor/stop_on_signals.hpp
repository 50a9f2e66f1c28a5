// stop_on_signals: Ctrl-C and SIGTERM as a stop request.
#pragma once

#include <chrono>

#include <coflux/base/atomic.hpp>
#include <coflux/core/environment.hpp>

namespace coflux {

/// While it lives, SIGINT (Ctrl-C) and SIGTERM request a stop of an environment: `coflux::stop_on_signals
/// signals(env);`
///
/// The first signal stops what is made in the environment, and later what will be. One of either kind that comes within
/// `second_after` of it is the same request, and does nothing: GNU timeout and some supervisors signal a process and
/// then its group, so that one request comes twice. A later one has its default effect and ends the process, so that a
/// user need not wait for a clean-up that hangs. Before and after, signals do what they did; but one that is the same
/// request does nothing when the object is gone, too: a program that ends at once keeps its exit status.
///
/// Returns: received() is the number of the signal that came, 0 if none did: `return signals.received() ? 128 +
/// signals.received() : 0;`
/// Errors: std::system_error when the system has no thread or pipe; two at the same time in a process are a checked
/// error. A signal that the process ignored, as some shells ask of what runs in the background, is received
/// nevertheless.
/// Stops: what is stopped ends as after any request (docs/howto/graceful-shutdown.md).
/// Threads: the signal may arrive at any thread; the stop is requested on one of the object's own.
/// Costs: that thread, which is blocked until a signal comes.
/// Lifetime: the environment outlives it; made and destroyed by one thread at a time, the destructor waits for a
/// request that is under way. With a child of POSIX fork() it does not go along: there the signals have their default
/// effect, its destructor does nothing, and the child may make one of its own.
/// Example: examples/22_word_count.cpp
class stop_on_signals {
public:
    /// `second_after` that is not positive: the second signal ends the process, however soon it comes.
    explicit stop_on_signals(environment& target, std::chrono::nanoseconds second_after = std::chrono::seconds(1));
    stop_on_signals(const stop_on_signals&) = delete;
    stop_on_signals& operator=(const stop_on_signals&) = delete;
    ~stop_on_signals();

    /// SIGINT or SIGTERM once one of them has come; else 0.
    /// Threads: any.
    [[nodiscard]] int received() const noexcept {
        return received_.load(detail::memory_order_acquire);  // pairs with the store before the request
    }

private:
    struct watcher;  // a thread: <thread> is not for each program that includes this

    void watch() noexcept;

    environment& target_;
    detail::atomic<int> received_{0};
    watcher* watcher_ = nullptr;
};

}  // namespace coflux
