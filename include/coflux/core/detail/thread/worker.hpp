// A pool worker as the core sees it: the two local queues that a coroutine on this thread may use without a call.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/base/ready_ring.hpp>
#include <coflux/base/work_stealing_deque.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// Local queues of one worker thread; the pool derives from it. Only the worker's own thread calls the functions.
class worker {
public:
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    [[nodiscard]] const void* executor() const noexcept { return executor_; }
    /// The worker of `executor` that the calling thread is, also where another one is mounted on it; nullptr: none.
    [[nodiscard]] static worker* of_thread_for(const void* executor) noexcept {
        worker* w = this_thread.queues;
        while (w != nullptr && w->executor_ != executor) w = w->below_;
        return w;
    }
    /// True if the calling thread is no worker, or one of the workers that it is has something queued.
    [[nodiscard]] static bool thread_has_queued() noexcept {
        const worker* w = this_thread.queues;
        if (w == nullptr) return true;
        while (w != nullptr && !w->has_queued()) w = w->below_;
        return w != nullptr;
    }
    /// The calling thread is `w` from now on, or no worker.
    static void set_current(worker* w) noexcept {
        this_thread.queues = w;
        this_thread.executor = w == nullptr ? nullptr : w->executor_;
    }

    /// Queues a coroutine that was just created: youngest first for the owner, oldest first for thieves.
    COFLUX_INLINE void push_fork(std::coroutine_handle<> h) noexcept {
        forks_.push(h.address());
        if (has_sleepers()) [[unlikely]]
            notify_one_aside();
    }

    /// Pops `h` if it is the newest fork, for its parent to run. Refuses when the tick budget is exhausted and other
    /// coroutines wait.
    COFLUX_INLINE bool pop_if_newest(std::coroutine_handle<> h) noexcept {
        return forks_.pop_if(h.address(), [this]() noexcept {
            // Unsigned, so that a compiler may decrement in memory and look at the sign.
            tick_budget_ = static_cast<std::int32_t>(static_cast<std::uint32_t>(tick_budget_) - 1);
            return tick_budget_ >= 0 || !budget_exhausted_aside();
        });
    }

    /// Queues a coroutine that is ready again, first in, first out.
    COFLUX_INLINE void push_ready(std::coroutine_handle<> h) noexcept {
        if (!ready_.push(h.address())) [[unlikely]]
            return overflow(h);
        if (has_sleepers()) [[unlikely]]
            notify_one_aside();
    }

    /// The same for one that this worker best takes itself: it counts as a lone one, whatever else is queued.
    void push_ready_for_itself(std::coroutine_handle<> h) noexcept {
        if (!ready_.push(h.address())) return overflow(h);
        if (has_sleepers()) notify_of_lone();
    }
    /// The coroutine that runs here yields: push_ready() is next.
    COFLUX_INLINE void note_yield() noexcept { ready_.note_yield(); }

    /// After push_ready: the next coroutine to run if that does not need the loop, else the noop coroutine.
    COFLUX_INLINE std::coroutine_handle<> next_ready() noexcept {
        if (tick_budget_ <= 0 || forks_.size() != 0) [[unlikely]]
            return no_coroutine();
        void* const next = ready_.take();
        if (next == nullptr) [[unlikely]]
            return no_coroutine();
        --tick_budget_;
        return std::coroutine_handle<>::from_address(next);
    }

    /// A coroutine has done what may take its time without a suspension: false if its round is over, and it should
    /// suspend.
    [[nodiscard]] bool spend_tick() noexcept {
        if (tick_budget_ <= 0) return spend_tick_aside();
        ++spent_;
        return --tick_budget_ > 0;
    }
    /// spend_tick() said no: true if others have their turn now; else there is budget for another round.
    [[nodiscard]] virtual bool others_are_due() noexcept { return true; }

    /// True if a coroutine waits in one of the two queues.
    [[nodiscard]] bool has_queued() const noexcept { return forks_.size() != 0 || ready_.size() != 0; }

protected:
    /// `heavy`, `takers`: as in work_stealing_deque.
    worker(const void* executor, const atomic<std::uint32_t>& idle, heavy_fence heavy = nullptr,
           std::size_t capacity = first_capacity, std::size_t takers = 2) noexcept
        : executor_(executor),
          idle_(&idle),
          forks_(capacity, heavy, takers) {}
    ~worker() = default;

    virtual void notify_one() noexcept = 0;
    virtual void notify_of_lone() noexcept { notify_one(); }
    /// The tick budget is used up, and a parent would pop its newest fork, unless it was stolen: true if the loop must
    /// run; else there is budget again.
    virtual bool budget_exhausted() noexcept = 0;
    virtual void overflow(std::coroutine_handle<> h) noexcept = 0;
    /// spend_tick(), where tick_budget_ has none left: of a budget that the loop has laid aside.
    virtual bool spend_tick_aside() noexcept { return false; }

    // notify_one() and budget_exhausted() for a fast path, whose registers they keep.
    COFLUX_ASIDE void notify_one_aside() noexcept;
    COFLUX_ASIDE bool budget_exhausted_aside() noexcept;

    /// Low half of the pool's idle word: parked workers; high half: workers looking for work. relaxed: a stale answer
    /// costs a wake-up or a delay that the sleeper's re-check bounds (docs/design/thread_pool.md).
    [[nodiscard]] COFLUX_INLINE bool has_sleepers() const noexcept {
        return idle_->load(memory_order_relaxed) - 1 < 0xffffU;
    }

    static constexpr std::size_t first_capacity = 1024;  // of forks_, which grows
    static constexpr std::size_t serial_capacity = 16;   // where there may be thousands of workers

    const void* executor_;
    worker* below_ = nullptr;  ///< what the thread was when this one was mounted on it
    const atomic<std::uint32_t>* idle_;
    std::int32_t tick_budget_ = 0;  ///< resumptions left before the loop must serve its other queues (law 8)
    std::uint32_t spent_ = 0;       ///< by spend_tick()
    work_stealing_deque forks_;
    ready_ring ready_;
};

}  // namespace coflux::detail
