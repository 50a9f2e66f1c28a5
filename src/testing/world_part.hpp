// The events in a world beside coroutines and timers: the seam that simulated networks and disks fill.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <coflux/time/detail/timing_wheel.hpp>

namespace coflux::testing::detail {

/// Threads: that of its world.
class world_part {
public:
    world_part(const world_part&) = delete;
    world_part& operator=(const world_part&) = delete;

    /// Carries on what can go on without a decision on what is next. True if there was something; then it is to be
    /// called again.
    virtual bool settle() noexcept = 0;
    /// The earliest moment at which something may happen; it may have come. timing_wheel::never: there is none.
    [[nodiscard]] virtual coflux::detail::clock_tick next_event() const noexcept = 0;
    /// Appends the names of what may happen now.
    virtual void add_due(std::vector<std::uint64_t>& to) const = 0;
    /// Lets the event of that name happen. False if this part has none.
    virtual bool happen(std::uint64_t name) noexcept = 0;
    /// Lines for a message; empty: nothing of it waits.
    [[nodiscard]] virtual std::string describe() const = 0;

protected:
    world_part() = default;
    ~world_part() = default;
};

/// The parts of one world, as one.
class world_parts {
public:
    void add(world_part& p) { all_.push_back(&p); }
    void remove(world_part& p) noexcept { std::erase(all_, &p); }
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    bool settle() noexcept {
        bool went_on = false;
        for (world_part* const p : all_) went_on |= p->settle();
        return went_on;
    }
    [[nodiscard]] coflux::detail::clock_tick next_event() const noexcept {
        coflux::detail::clock_tick next = coflux::detail::timing_wheel::never;
        for (const world_part* const p : all_) next = std::min(next, p->next_event());
        return next;
    }
    void add_due(std::vector<std::uint64_t>& to) const {
        for (const world_part* const p : all_) p->add_due(to);
    }
    bool happen(std::uint64_t name) noexcept {
        return std::any_of(all_.begin(), all_.end(), [name](world_part* p) { return p->happen(name); });
    }
    [[nodiscard]] std::string describe() const {
        std::string text;
        for (const world_part* const p : all_) text += p->describe();
        return text;
    }

private:
    std::vector<world_part*> all_;
};

}  // namespace coflux::testing::detail
