// An event source over io_uring. The page docs/design/io_uring.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>

#include "io/detail/io_source.hpp"
#include "io/detail/slot_table.hpp"
#include "os/process/process.hpp"
#include "ring.hpp"

namespace coflux::detail {

class uring_source final : public io_source {
public:
    /// Errors: std::system_error.
    explicit uring_source(ring_rung rung);
    ~uring_source() override;

    std::size_t look(std::size_t most) noexcept override;
    void sleep_until(std::uint64_t deadline) noexcept override;
    void wake() noexcept override;
    [[nodiscard]] bool has_pending() const noexcept override {
        return pending_.load(memory_order_relaxed) != 0;  // a hint; only its own thread arms in a host
    }
    [[nodiscard]] bool has_found() const noexcept override {
        // A hint of other threads; they wake the host.
        return first_ != nullptr || has_given_.load(memory_order_relaxed) || ring_.completed() != 0 ||
               // It would not hear of what comes.
               ring_.unsubmitted() != 0 || (serves_ && !watches_waker_);
    }
    // It has no shared host, and what is late is submitted as all else.
    std::size_t try_late() noexcept override { return 0; }
    [[nodiscard]] bool has_late() const noexcept override { return false; }
    [[nodiscard]] int descriptor() const noexcept override { return ring_.descriptor(); }
    void add_left(left_behind& to) noexcept override;

    io_slot attach(int number) override;
    void detach(io_slot at, int number) noexcept override;
    wait_attempt arm(io_operation& op, io_slot at) noexcept override;
    wait_attempt arm_for_next_look(io_operation& op, io_slot at) noexcept override;
    bool claim(io_operation& op, io_slot at) noexcept override;
    [[nodiscard]] bool submits(direction way) const noexcept override { return way == direction::in; }

private:
    // free -> queued: arm(). queued -> free: a stop that claims it. queued -> submitted, and submitted -> free with the
    // terminal completion: the host's thread.
    enum class state : std::uint8_t { free, queued, submitted };
    /// One direction of a descriptor.
    struct place {
        adaptive_lock lock;  // guards what follows, but for `name` and `next`
        state at = state::free;
        bool is_listed = false;    // the host will look at it
        bool must_cancel = false;  // a stop has come since it was submitted
        bool is_poll = false;      // what was submitted is a poll, or only a reason to try
        bool is_untried = false;   // what waits was not tried: before it is polled, it is
        bool polls = false;        // the descriptor does not let the system wait
        std::uint8_t asked = 0;    // when it was submitted, if leaves_more_untold(): see looks_
        std::uint32_t generation = 0;
        std::uint32_t name = 0;  // twice the number of its slot, and 1 for the way out
        io_operation* waiting = nullptr;
        place* next = nullptr;  // in the list that it is in
    };
    struct slot {
        place in;
        place out;
    };

    [[nodiscard]] place& place_of(io_slot at, direction way) noexcept {
        slot& s = slots_[at.number];
        return way == direction::in ? s.in : s.out;
    }
    /// The place that a request, and so its completion, names.
    [[nodiscard]] place& place_named(std::uint64_t name) noexcept {
        const auto number = static_cast<std::uint32_t>(name);
        slot& s = slots_[number / 2];
        return number % 2 == 0 ? s.in : s.out;
    }
    [[nodiscard]] bool is_host_here() const noexcept;
    void check_process() const noexcept;
    wait_attempt arm(io_operation& op, io_slot at, bool is_untried) noexcept;
    wait_attempt wait_at(place& p, io_operation& op) noexcept;
    void list(place& p) noexcept;
    void take_what_was_given() noexcept;
    void begin_to_serve() noexcept;
    void watch_waker() noexcept;
    void fill_in() noexcept;
    void fill_in(place& p) noexcept;
    void enter(std::uint64_t nanoseconds) noexcept;
    std::size_t hand_out(std::size_t most) noexcept;
    io_operation* take_completed(const io_uring_cqe& c, bool& is_poll, bool& was_there) noexcept;
    std::size_t complete(io_operation& op, const io_uring_cqe& c, bool is_poll, bool was_there) noexcept;

    ring ring_;
    int waker_ = -1;
    os::process_mark process_;
    atomic<std::size_t> pending_{0};  // operations that wait; counted up before they can be seen

    // The host's: places to be looked at when requests are filled in.
    place* first_ = nullptr;
    place* last_ = nullptr;
    std::uint8_t looks_ = 1;      // a count that begins anew, never 0: a hint of what was there when it was asked for
    bool serves_ = false;         // the ring is enabled
    bool watches_waker_ = false;  // a poll of it is under way
    // The thread of a host that this_thread.events does not name; nullptr: none. Written by that thread alone, and only
    // it finds its own address here.
    atomic<const void*> service_{nullptr};

    adaptive_lock given_lock_;       // guards given_, and the links of what is there
    place* given_ = nullptr;         // by other threads, the last first
    atomic<bool> has_given_{false};  // a hint, written under given_lock_

    slot_table<slot> slots_;
};

}  // namespace coflux::detail
