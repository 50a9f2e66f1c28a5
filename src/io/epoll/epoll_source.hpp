// An event source over epoll. The page docs/design/io.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>

#include "io/detail/io_source.hpp"
#include "io/detail/slot_table.hpp"
#include "os/process/process.hpp"

namespace coflux::detail {

class epoll_source final : public io_source {
public:
    /// Errors: std::system_error.
    epoll_source();
    ~epoll_source() override;

    std::size_t look(std::size_t most) noexcept override;
    void sleep_until(std::uint64_t deadline) noexcept override;
    void wake() noexcept override;
    [[nodiscard]] bool has_pending() const noexcept override {
        return pending_.load(memory_order_relaxed) != 0;  // a hint; only its own thread arms in a host
    }
    [[nodiscard]] bool has_found() const noexcept override { return found_ != 0 || has_late(); }
    std::size_t try_late() noexcept override;
    [[nodiscard]] bool has_late() const noexcept override {
        return has_late_.load(memory_order_relaxed);  // the host's thread has set it, or is woken
    }
    [[nodiscard]] int descriptor() const noexcept override { return epoll_; }
    void add_left(left_behind& to) noexcept override;

    io_slot attach(int number) override;
    void detach(io_slot at, int number) noexcept override;
    wait_attempt arm(io_operation& op, io_slot at) noexcept override;
    wait_attempt arm_for_next_look(io_operation& op, io_slot at) noexcept override;
    bool claim(io_operation& op, io_slot at) noexcept override;

private:
    struct waiting_place {
        io_operation* waiting = nullptr;
        bool ready = false;    // an event came while none waited
        bool closing = false;  // an event told of more than bytes: a read does not give all that there is to know
    };
    struct slot {
        adaptive_lock lock;  // guards what follows
        std::uint32_t generation = 0;
        waiting_place in;
        waiting_place out;

        waiting_place& place(direction way) noexcept { return way == direction::in ? in : out; }
    };

    wait_attempt wait_at(slot& s, io_operation& op) noexcept;
    void make_room_for_late(std::size_t most);
    [[nodiscard]] bool is_host_here() const noexcept;
    void check_process() const noexcept;
    std::size_t end_pending(io_operation& op) noexcept;
    void set_closing(slot& s, std::uint32_t generation) noexcept;
    io_operation* take_waiting(slot& s, direction way, std::uint32_t generation) noexcept;
    std::size_t carry_on(slot& s, io_operation& op) noexcept;
    [[nodiscard]] std::size_t poll_until(std::uint64_t deadline, std::size_t most_found) noexcept;
    std::size_t hand_out(std::size_t found) noexcept;

    struct late {
        io_slot at;
        direction way;
    };

    os::process_mark process_;
    int epoll_ = -1;
    int waker_ = -1;
    atomic<std::size_t> pending_{0};  // operations that wait; counted up under a slot's lock
    slot_table<slot> slots_;
    adaptive_lock late_lock_;  // guards late_
    std::vector<late> late_;
    atomic<std::size_t> late_room_{0};  // the capacity of late_, which only grows
    atomic<bool> has_late_{false};      // a hint, written under late_lock_
    std::size_t found_ = 0;             // its looker's: events that a sleep found and no look has handed out
    struct event_buffer;
    std::unique_ptr<event_buffer> events_;
};

}  // namespace coflux::detail
