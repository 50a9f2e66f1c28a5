// The event source that the workers of a pool share: its looker, the one that sleeps in it, and the one that keeps
// guard. The page docs/design/pool_events.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/time/clock.hpp>

#include "event/event_source.hpp"
#include "idle_workers.hpp"
#include "os/thread/alarm.hpp"

namespace coflux::detail {

/// Before the source is there only source() and the destructor are called.
class pool_events final : public event_host {
public:
    /// So long, in nanoseconds, nothing that is ready lies unseen beside workers that compute.
    static constexpr clock_tick latest_look = 500'000;

    explicit pool_events(idle_workers& idle) noexcept : idle_(idle) {}

    [[nodiscard]] bool is_shared() const noexcept override { return true; }
    void adopt(std::shared_ptr<event_source> source) override;

    // --- looking -----------------------------------------------------------------------------------------------------

    /// The caller may look, until end_drive(): no other worker looks, or sleeps there.
    [[nodiscard]] bool try_drive() noexcept { return try_drive_as(driver::looks); }
    void end_drive(std::size_t worker) noexcept {
        looked_by_.store(worker, memory_order_relaxed);      // a hint
        looked_at_.store(tick_now(), memory_order_relaxed);  // a hint
        // [pool_events.end_drive]
        driver_.store(driver::none, memory_order_release);  // pairs with try_drive_as()
    }

    // Hints:
    [[nodiscard]] std::size_t looked_by() const noexcept { return looked_by_.load(memory_order_relaxed); }
    /// That worker was the last that looked, and looks again before long.
    [[nodiscard]] bool is_looker(std::size_t worker, clock_tick now) const noexcept {
        return looked_by() == worker && source() != nullptr && is_looked_at(now);
    }

    // --- seats -------------------------------------------------------------------------------------------------------

    enum class seat : std::uint8_t { none, guard, poller };
    /// The worker is about to park.
    [[nodiscard]] seat take_seat(std::size_t worker) noexcept;
    /// The poller is awake, and looks until end_drive().
    void leave_poll() noexcept;
    /// The guard is awake. `stepped_in`: because no other worker looks.
    void leave_guard(bool stepped_in) noexcept;
    /// A worker without a seat would get one.
    [[nodiscard]] bool has_free_seat() const noexcept {
        return !guarded_.load(memory_order_relaxed);  // its worker looks again before long
    }

    // The guard:
    [[nodiscard]] os::alarm& alarm() noexcept { return *alarm_; }
    /// After a sleep. True: it steps in. False: it sleeps on.
    [[nodiscard]] bool must_step_in() noexcept;

private:
    enum class driver : std::uint8_t { none, looks, sleeps };
    [[nodiscard]] bool try_drive_as(driver how) noexcept {
        driver free = driver::none;
        // [pool_events.try_drive]
        return driver_.load(memory_order_relaxed) == driver::none &&
               // seq_cst: before the look at the alarm's state; acquire pairs with end_drive()
               driver_.compare_exchange_strong(free, how, memory_order_seq_cst, memory_order_relaxed);
    }
    [[nodiscard]] bool is_looked_at(clock_tick now) const noexcept;
    void set_alarm() noexcept;

    idle_workers& idle_;
    mutex lock_;  // guards adopt()
    alignas(cache_line) atomic<driver> driver_{driver::none};
    atomic<std::size_t> looked_by_{0};
    atomic<clock_tick> looked_at_{0};
    atomic<bool> guarded_{false};
    atomic<bool> armed_{false};
    atomic<clock_tick> period_{0};    // of the alarm; the guard's
    std::optional<os::alarm> alarm_;  // made before the source is there, if there is more than one worker
};

}  // namespace coflux::detail
