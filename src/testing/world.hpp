// The machinery of a simulation; docs/design/simulation.md.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <coflux/core/thread_driver.hpp>
#include <coflux/core/worker.hpp>
#include <coflux/testing/simulation.hpp>
#include <coflux/time/timer_queue.hpp>

#include "../time/timer_service.hpp"

namespace coflux::testing::detail {

class world;

/// One executor of a world: the queues that its coroutines see as those of a pool's worker.
class sim_worker final : public coflux::detail::worker {
public:
    explicit sim_worker(world& in);

    [[nodiscard]] world& in() const noexcept { return in_; }

private:
    friend class world;

    void call_for_help() noexcept override {}
    bool others_wait() noexcept override;
    void overflow(std::coroutine_handle<> h) noexcept override;

    world& in_;
    coflux::detail::timer_queue timers_;
};

class world final : public coflux::detail::thread_driver {
public:
    world(simulation& is, chooser& decides, simulation_options options);
    ~world();

    void drive(coflux::detail::frame_control& c, bool may_throw) override;
    bool step();
    void advance(coflux::detail::clock_tick to);

    void add(sim_worker& to, std::coroutine_handle<> h) noexcept;
    [[nodiscard]] std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept;
    sim_worker& new_worker();

    [[nodiscard]] static simulation* youngest_of_thread() noexcept;
    [[nodiscard]] coflux::detail::clock_tick start() const noexcept { return start_; }
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    [[nodiscard]] const std::vector<decision>& schedule() const noexcept { return schedule_; }

    const coflux::detail::atomic<std::uint32_t> nobody_sleeps{0};

private:
    struct ready {
        std::coroutine_handle<> coroutine;
        sim_worker* on;
    };

    void collect() noexcept;
    void look_at_timers(bool all) noexcept;
    [[nodiscard]] coflux::detail::clock_tick next_deadline() const noexcept;
    [[nodiscard]] bool passes_time() noexcept;
    void resume(ready next) noexcept;
    [[nodiscard]] std::exception_ptr hangs(coflux::detail::frame_control& c);

    simulation* is_;
    world* outer_;
    chooser* decides_;
    simulation_options options_;
    coflux::detail::timer_service service_;
    coflux::detail::clock_tick start_;
    std::size_t steps_ = 0;
    std::vector<decision> schedule_;
    std::vector<std::unique_ptr<sim_worker>> workers_;
    std::vector<ready> ready_;                        // longest first
    std::vector<std::uint64_t> names_;                // of what is in ready_
    std::unordered_map<void*, std::uint64_t> known_;  // names by frame
    std::uint64_t named_ = 0;
};

}  // namespace coflux::testing::detail
