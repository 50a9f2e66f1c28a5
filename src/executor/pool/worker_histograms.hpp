// The times that a worker measures where its pool is asked to. The page docs/design/metrics.md has the protocol.
#pragma once

#include <coroutine>
#include <exception>

#include <coflux/base/atomic.hpp>
#include <coflux/time/clock.hpp>

#include "inspect/histogram.hpp"

namespace coflux::detail {

/// A coroutine that is queued as one that is ready, and measures how long it waits there. Any worker may resume it.
class latency_probe {
public:
    latency_probe() : probe_(measure(*this).handle) {}
    latency_probe(const latency_probe&) = delete;
    latency_probe& operator=(const latency_probe&) = delete;
    ~latency_probe() { probe_.destroy(); }

    // The worker that it belongs to:
    [[nodiscard]] bool is_due(clock_tick now) const noexcept {
        return now - begun_ >= period && !queued_.load(memory_order_acquire);  // pairs with the end of a resumption
    }
    /// The caller queues what this gives.
    /// Pre: is_due().
    [[nodiscard]] std::coroutine_handle<> begin(clock_tick now) noexcept {
        begun_ = now;
        queued_.store(true, memory_order_relaxed);  // for this thread
        return probe_;
    }
    /// There was no room.
    void give_up() noexcept { queued_.store(false, memory_order_relaxed); }

    [[nodiscard]] const histogram& latency() const noexcept { return latency_; }

private:
    static constexpr clock_tick period = 100'000;  // nanoseconds; between two probes, at least

    struct coroutine {
        struct promise_type {
            coroutine get_return_object() noexcept {
                return {std::coroutine_handle<promise_type>::from_promise(*this)};
            }
            std::suspend_always initial_suspend() const noexcept { return {}; }
            std::suspend_always final_suspend() const noexcept { return {}; }
            void return_void() const noexcept {}
            [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
        };
        std::coroutine_handle<> handle;
    };
    /// It is suspended, and its owner may queue it again.
    struct end_of_resumption {
        latency_probe& of;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const noexcept {
            of.queued_.store(false, memory_order_release);  // pairs with is_due()
        }
        void await_resume() const noexcept {}
    };
    static coroutine measure(latency_probe& self) {
        for (;;) {
            self.latency_.add(tick_now() - self.begun_);
            co_await end_of_resumption{self};
        }
    }

    histogram latency_;
    clock_tick begun_ = 0;
    atomic<bool> queued_{false};  // true: from begin() until it is suspended again
    std::coroutine_handle<> probe_;
};

struct worker_histograms {
    histogram resumptions;
    latency_probe probe;
};

}  // namespace coflux::detail
