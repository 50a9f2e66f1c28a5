// The machinery of a simulation; docs/design/simulation.md.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/testing/simulation.hpp>
#include <coflux/time/detail/timer_queue.hpp>

#include "time/detail/timer_service.hpp"
#include "world_part.hpp"

namespace coflux::testing::detail {

class world;

/// One executor of a world: the queues that its coroutines see as the queues of a pool's worker.
class sim_worker final : public coflux::detail::worker {
public:
    explicit sim_worker(world& in);

    [[nodiscard]] world& in() const noexcept { return in_; }

private:
    friend class world;

    void notify_one() noexcept override {}
    bool budget_exhausted() noexcept override;
    void overflow(std::coroutine_handle<> h) noexcept override;
    void mark_stolen(coflux::detail::promise_base& p) noexcept;

    world& in_;
    coflux::detail::executor_entry elsewhere_{};  // the executor of stolen forks
    coflux::detail::timer_queue timers_;
    std::uint64_t clock_name_ = 0;  // of its timers, as a candidate
};

/// Made once a thread and depth of nesting, and used again by simulation after simulation: its queues and lists keep
/// their memory.
class world final : public coflux::detail::thread_driver {
public:
    world();
    ~world() = default;

    /// A simulation begins, and ends.
    static std::unique_ptr<world> opened(simulation& is, chooser& decides, const simulation_options& options);
    static void closed(std::unique_ptr<world> w) noexcept;

    bool drive(coflux::detail::frame_control& c, bool may_throw) override;
    void at_await() override {
        if (on_await) on_await(++awaits_);
    }
    void add_root(coflux::detail::wait_record& r) noexcept override { roots_.push_back(&r); }
    void remove_root(coflux::detail::wait_record& r) noexcept override;
    bool keep_unobserved(const coflux::detail::failure& f) noexcept override;
    void begin_foreign_wait(coflux::detail::promise_base& p) noexcept override { foreign_waits_.push_back(&p); }
    void end_foreign_wait(coflux::detail::promise_base& p) noexcept override;

    /// Resumes one; false if there is none up to the moment `until`, which then is the present or has not come.
    bool step(coflux::detail::clock_tick until = coflux::detail::timing_wheel::never);
    void advance(coflux::detail::clock_tick to);
    void run();
    /// The text of what each waiter waits for, and the tree of what is alive. `also` is alive, even if nothing leads to
    /// it; or nullptr.
    [[nodiscard]] std::string describe(coflux::detail::frame_control* also) const;

    /// `ours`: the handle is known to be one of Coflux's own coroutines.
    void add(sim_worker& to, std::coroutine_handle<> h, bool ours) noexcept;
    [[nodiscard]] std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept;
    sim_worker& new_worker();
    /// True if the coroutine of this thread runs on one of this world's executors, or on none that has a worker.
    [[nodiscard]] bool runs_what_runs() const noexcept {
        const auto used = std::span(workers_).first(workers_used_);
        return coflux::detail::this_thread.queues == nullptr ||
               std::any_of(used.begin(), used.end(),
                           [](const auto& w) { return w->of_thread_for(w.get()) != nullptr; });
    }
    /// A name of a candidate that is no coroutine.
    [[nodiscard]] std::uint64_t new_name() noexcept { return ++named_; }

    /// One at a time. `sockets`: of what is opened on this thread from now on.
    void attach(world_part& network, coflux::detail::socket_calls& sockets) noexcept;
    void detach(world_part& network) noexcept;
    /// Any number of disks. `files`: of what is opened on this thread from now on; nullptr: the system's.
    void attach_disk(world_part& disk, coflux::detail::file_calls& files) {
        parts_.add(disk);
        files_ = &files;
    }
    void detach_disk(world_part& disk, coflux::detail::file_calls* files) noexcept {
        parts_.remove(disk);
        files_ = files;
    }

    [[nodiscard]] static simulation* youngest_of_thread() noexcept;
    [[nodiscard]] bool is_of_this_thread() const noexcept;
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    [[nodiscard]] const std::vector<decision>& schedule() const noexcept { return schedule_; }
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

    /// Virtual time begins here, in each run: the order of events must not depend on when the program runs.
    static constexpr coflux::detail::clock_tick start = 1'000'000'000;

    std::function<void(std::size_t)> on_step;
    std::function<void(std::size_t)> on_await;
    bool collects_failures =
        false;                   ///< explore() will look at failure(): what cannot be thrown need not end the program
    bool gathers_trees = false;  ///< `tree` is asked for
    std::string tree;            ///< describe() when the first root failed that a thread waited for
    bool was_livelock = false;   ///< the failure is one
    std::string unobserved;      ///< a line for each unobserved error, and
    std::exception_ptr first_unobserved;
    const coflux::detail::atomic<std::uint32_t> no_sleepers{0};

private:
    struct ready {
        std::coroutine_handle<> handle;     // what is resumed
        std::coroutine_handle<> coroutine;  // that goes on then
        sim_worker* on;
        bool ours;
    };

    void open(simulation& is, chooser& decides, const simulation_options& options);
    void close() noexcept;

    [[nodiscard]] std::size_t ready_count() const noexcept { return ready_.size() - first_; }
    [[nodiscard]] ready take_ready(std::size_t at) noexcept;
    [[nodiscard]] std::uint64_t name_of(std::coroutine_handle<> h, bool ours);
    [[nodiscard]] std::uint64_t name_by_address(void* frame, bool is_new);

    bool collect() noexcept;
    void hand_out(std::uint64_t clock) noexcept;
    [[nodiscard]] coflux::detail::clock_tick next_deadline() const noexcept;
    void pass_to(coflux::detail::clock_tick now) noexcept;
    void resume(ready next) noexcept;

    [[nodiscard]] bool owns(coflux::detail::frame_control& c) const noexcept;
    void fail_hang(coflux::detail::frame_control& c, bool may_throw);
    void note_spin(coflux::detail::promise_base& p);
    /// The text on a run that does not end, with the coroutines that spin in it.
    [[nodiscard]] std::string livelock_text() const;

    simulation* is_ = nullptr;
    world* outer_ = nullptr;
    chooser* decides_ = nullptr;
    simulation_options options_;
    coflux::detail::timer_service service_;
    std::uint64_t service_name_ = 0;
    std::size_t steps_ = 0;
    std::size_t awaits_ = 0;         // counted while on_await is set
    std::size_t last_reported_ = 0;  // the step that on_step was last called with
    std::string failure_;
    std::vector<decision> schedule_;
    world_parts parts_;
    std::vector<std::unique_ptr<sim_worker>> workers_;
    std::size_t workers_used_ = 0;
    // Ready coroutines and their names, the longest ready first, from first_ on: what is before is gone.
    std::vector<ready> ready_;
    std::vector<std::uint64_t> names_;
    std::size_t first_ = 0;
    std::vector<std::uint64_t> with_clocks_;  // candidates where there are more: timers, the parts', then names_
    std::unordered_map<void*, std::uint64_t> known_;  // names that no frame holds
    std::uint64_t named_ = 0;
    // Coroutines that were ready again right after their resumption, among the last resumptions before the limit.
    struct spin {
        std::source_location at;
        std::size_t turns;
    };
    std::vector<spin> spins_;
    std::coroutine_handle<> had_turn_;                          // one of the last, until the next
    std::vector<coflux::detail::wait_record*> roots_;           // of root environments that have waiters
    std::vector<coflux::detail::promise_base*> foreign_waits_;  // suspended in an awaitable that is not Coflux's
};

}  // namespace coflux::testing::detail
