// The queues of an executor that runs one coroutine at a time: what a thread of its own, a strand, a shard and a loop
// that its user drives have in common. The page docs/design/serial_executors.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/time/clock.hpp>

#include "executor/detail/spilled_ready.hpp"
#include "executor/pool/round_clock.hpp"
#include "intake.hpp"

namespace coflux::detail {

/// It stands still until a thread mounts it; then that thread is this worker, until it dismounts. One at a time: the
/// next thread sees what the last one did, which is the business of the code that mounts.
class serial_worker : public worker {
public:
    /// `identity` is that of the executor; nothing runs for longer than a part of `longest_round` before
    /// run_round() returns, but for one step.
    explicit serial_worker(const void* identity, clock_tick longest_round = 1'000'000) noexcept;

    /// Queues `h`, from any thread. True: the caller rouses the executor; if `counted`, it calls roused() then. Never
    /// on the thread that has it mounted.
    [[nodiscard]] bool post(std::coroutine_handle<> h, bool counted) noexcept {
        if (this_thread.queues == this) {
            push_ready(h);
            return false;
        }
        return intake_.push(h, counted);
    }
    void begin_to_rouse() noexcept { intake_.begin_to_rouse(); }
    void roused() noexcept { intake_.roused(); }
    void wait_for_rousers() noexcept { intake_.wait_for_rousers(); }

    /// While it lives, the calling thread is this worker. The thread's former state is below, and takes what is posted
    /// to it meanwhile.
    class mount {
    public:
        mount(serial_worker& w, thread_state& t) noexcept;
        ~mount();
        mount(const mount&) = delete;
        mount& operator=(const mount&) = delete;

    private:
        serial_worker& mounted_;
        thread_state& t_;
        worker* const queues_;
        const void* const executor_;
        const environment* const current_;
        const environment* const below_;
        const std::uintptr_t nested_limit_;
        const std::uintptr_t open_nested_limit_;
    };

    // The thread that has it mounted:

    /// Resumes what is queued, each source in turn, for one tick budget. Returns how many that were, those among them
    /// that began in their awaiters' awaits; 0: nothing is queued.
    std::size_t run_round(thread_state& t) noexcept;
    /// Resumes one, and none that it makes ready.
    std::size_t run_single(thread_state& t) noexcept;
    /// In a coroutine of the round: it is the last one.
    void end_round() noexcept;
    [[nodiscard]] bool has_work() const noexcept { return has_own_work() || intake_.has_some(); }
    /// True: nothing is queued, and from now on the next post() says that the executor must be roused.
    /// Pre: has_work() said no.
    [[nodiscard]] bool rest() noexcept { return intake_.rest(); }
    /// `then()` is called before another thread can rouse it.
    template <typename F>
    [[nodiscard]] bool rest(F then) noexcept {
        return intake_.rest(then);
    }
    /// From any thread: `f(rests)`, while it neither begins nor ceases to rest.
    template <typename F>
    auto while_it_stays(F f) noexcept {
        return intake_.with_lock(f);
    }
    /// How many were posted that the executor has not taken over yet.
    /// Threads: any.
    [[nodiscard]] std::size_t posted() noexcept { return intake_.pushed(); }
    /// The executor has roused itself.
    void attend() noexcept { intake_.attend(); }

protected:
    ~serial_worker() = default;

    /// The tick budget of a round is used up: true if other work of the thread has its turn now.
    virtual bool must_give_way() noexcept = 0;

private:
    bool run_one(thread_state& t) noexcept;
    COFLUX_NOINLINE void run_alone(std::coroutine_handle<> h, thread_state& t) noexcept;
    [[nodiscard]] bool has_own_work() const noexcept { return has_queued() || !spilled_.empty(); }
    std::coroutine_handle<> next() noexcept;
    void begin_round() noexcept;
    void notify_one() noexcept override;
    bool budget_exhausted() noexcept override;
    bool others_are_due() noexcept override;
    bool goes_on_without(std::size_t forks) noexcept;
    void overflow(std::coroutine_handle<> h) noexcept override;
    bool spend_tick_aside() noexcept override {
        if (aside_ <= 0) return false;
        ++spent_;
        return --aside_ > 0;
    }

    intake intake_;
    round_clock rounds_;
    spilled_ready spilled_;          // what ready_ had no room for
    unsigned source_ = 0;            // that has its turn
    std::size_t granted_ = 0;        // ticks of this round, with those that an await was given
    std::int32_t aside_ = 0;         // what is left of them while tick_budget_ is 0 for one coroutine
    bool round_was_full_ = false;    // the last one used up its budget
    bool rounds_are_timed_ = false;  // so did those before, since the clock was read
    bool is_single_ = false;         // one coroutine runs, and there is no other round
};

}  // namespace coflux::detail
