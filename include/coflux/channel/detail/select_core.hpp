// Everything of a select that does not depend on the types of its cases: looking, waiting, which case wins, joining the
// losers.
//
// The page docs/design/channel.md has the protocol.
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>

#include <coflux/base/atomic.hpp>
#include <coflux/channel/detail/channel_core.hpp>
#include <coflux/core/detail/frame/frame.hpp>

namespace coflux::detail {

/// A case that is a coroutine: a fork or task, or the fork that something else was wrapped in.
struct select_child : waiter {
    select_child() noexcept = default;
    select_child(const select_child&) = delete;
    select_child& operator=(const select_child&) = delete;
    /// One that has not begun has no effect; one that has belongs to its scope.
    ~select_child();

    [[nodiscard]] bool is_running() const noexcept { return begun && control != nullptr && !control->done(); }

    frame_control* control = nullptr;  // nullptr: not taken over yet, or its result was taken
    select_core* of = nullptr;
    std::uint32_t position = 0;
    bool begun = false;
    bool keeps_error =
        false;  // it ended, or will, with this as its only waiter: then its scope has not been notified of an error
};

/// One case: a channel's (`node`, `queue`, `attempt`) or a coroutine's (`child`); neither is `otherwise`.
struct select_entry {
    channel_node* node = nullptr;
    channel_queue* queue = nullptr;
    bool (*attempt)(channel_node& operation, channel_wakes& wakes) noexcept = nullptr;
    select_child* child = nullptr;
};

inline constexpr std::uint32_t most_select_cases = 64;  // but for ranges

/// Errors: throws std::invalid_argument.
[[noreturn]] COFLUX_COLD void throw_select_of_nothing();

/// The wait of a select.
///
///     idle --all locks held, nothing can be done--> open --a case wins (CAS)--> first_case + position
///      | |                                           '--a stop request (CAS)--> stopped
///      | '--a case is done at once-----------------------------------------> first_case + position
///      '--a stop request comes before the wait-----------------------------> stop_requested (or, even so, a case)
class select_core : public wait_operation {
public:
    /// True if the case `position` is the first: then it is the one, and its effect is its winner's to bring about.
    [[nodiscard]] bool decide(std::uint32_t position) noexcept {
        std::uint32_t undecided = open;
        // acq_rel pairs with the other CASes of this word: what the winner does comes after what made the wait open.
        return word_.compare_exchange_strong(undecided, first_case + position, memory_order_acq_rel,
                                             memory_order_relaxed);
    }
    /// After a channel's case won and its value has moved, without locks.
    void won() noexcept;

    [[nodiscard]] bool await_ready() noexcept;
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);

protected:
    select_core(promise_base& p, std::span<select_entry> cases) noexcept : wait_operation(p, kind), cases_(cases) {}
    ~select_core() = default;

    /// Once all cases are in place: sets up what they share.
    void set_up() noexcept;
    /// The same of cases whose number is known only now. `room` is for the channels of as many cases.
    void set_up(std::span<select_entry> cases, channel_core** room) noexcept;
    /// The coroutine runs again: no other thread touches the cases any more. Returns the case that won.
    std::uint32_t resumed() noexcept;
    /// Takes the cases out of their channels. Before they die.
    void leave() noexcept;

private:
    static constexpr std::uint32_t idle = 0;
    static constexpr std::uint32_t stop_requested = 1;
    static constexpr std::uint32_t open = 2;
    static constexpr std::uint32_t stopped = 3;
    static constexpr std::uint32_t first_case = 4;
    static constexpr std::uint32_t no_case = ~std::uint32_t{0};

    class all_locks;

    static bool claim(wait_operation& op) noexcept;
    static void stop(wait_operation& claimed) noexcept;
    static const wait_kind kind;
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept;

    [[nodiscard]] std::uint32_t decided() const noexcept {
        return word_.load(memory_order_acquire);
    }  // pairs with the CASes
    [[nodiscard]] bool is_decided() const noexcept { return decided() >= first_case; }
    void decide_at_once(std::uint32_t position) noexcept { word_.store(first_case + position, memory_order_release); }
    [[nodiscard]] bool has_running_losers() const noexcept;

    [[nodiscard]] bool would_wait() const noexcept;
    [[nodiscard]] bool is_done_at_once() noexcept;
    [[nodiscard]] wait_attempt enter(channel_wakes& wakes) noexcept;
    bool attempt_channels(channel_wakes& wakes) noexcept;
    std::coroutine_handle<> wait_for_children() noexcept;
    std::coroutine_handle<> stop_and_join() noexcept;
    std::coroutine_handle<> join_losers() noexcept;
    [[nodiscard]] bool try_await(select_child& c) noexcept;
    [[nodiscard]] bool stop_losers() noexcept;
    void stop_losers_and_go_on() noexcept;
    static void stop_loser(void* self, std::size_t i) noexcept;
    static void give_back_decision(void* self) noexcept;
    [[nodiscard]] bool give_back_unit() noexcept;
    void joined() noexcept;

    std::span<select_entry> cases_;
    std::span<channel_core*> channels_;  // in the order of their locks, where set_up() got room for them
    atomic<std::uint32_t> word_{idle};
    // With children only: one unit for each child that is waited for, one for the thread that adds them, and one for
    // the decision; the thread that gives back the last one goes on with the coroutine. So no frame dies while it is
    // being stopped.
    atomic<std::uint32_t> units_{0};
    std::uint32_t children_ = 0;
    std::uint32_t otherwise_ = no_case;
    std::uint32_t start_ = 0;
    bool parked_ = false;  // its nodes may be in queues
    bool joined_ = false;
    bool lets_others_run_ = false;
};

}  // namespace coflux::detail
