// Hierarchical timing wheel: pending timers in order of their deadlines, without a clock, a thread or an allocation.
//
// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", scheme 7; level by the highest digit that
// differs as in Tokio's wheel. Deviations: each slot knows a bound of its earliest deadline, so that far timers seldom
// cascade; all of 64 bits are in range (docs/design/timing_wheel.md).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

class timing_wheel;

/// A link of a circular list; the heads of lists are links, too.
struct timer_link {
    timer_link* next;
    timer_link* prev;
};

/// One timer: derive from it, or make it a member. It is armed by timing_wheel::insert.
///
/// Threads: those of its wheel.
/// Lifetime: not armed at its end, which is checked.
class timer_node : private timer_link {
public:
    timer_node() noexcept : timer_link{nullptr, nullptr} {}
    timer_node(const timer_node&) = delete;
    timer_node& operator=(const timer_node&) = delete;
    ~timer_node() { COFLUX_VERIFY(!armed(), "a timer ends while it is armed; cancel it first"); }

    /// True from insert until the timer is cancelled or handed out.
    [[nodiscard]] bool armed() const noexcept { return next != nullptr; }
    /// The deadline that the last insert gave.
    /// Pre: there was one.
    [[nodiscard]] std::uint64_t deadline() const noexcept { return deadline_; }

private:
    friend class timing_wheel;

    std::uint64_t deadline_ = 0;
};

/// The function that timing_wheel::advance calls for each timer. It may do with the wheel and its timers what it likes,
/// but end the wheel.
template <typename F>
concept timer_callback = std::is_nothrow_invocable_v<F&, timer_node&>;

/// The pending timers of one thread.
///
/// Units: a tick is what the caller says. A caller with a finer clock rounds deadlines up and the present down.
/// Errors: none; misuse that can be seen is checked.
/// Threads: one at a time.
/// Costs: no allocation; about 16 KB.
/// Lifetime: no timer is armed at its end, which is checked.
class timing_wheel {
public:
    /// Later than every timer, but those that are armed for exactly this tick.
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    explicit timing_wheel(std::uint64_t now = 0) noexcept;
    timing_wheel(const timing_wheel&) = delete;
    timing_wheel& operator=(const timing_wheel&) = delete;
    ~timing_wheel() { COFLUX_VERIFY(empty(), "a timing wheel ends while timers are armed"); }

    /// As if it were made anew, at another present.
    /// Costs: O(1).
    /// Pre: empty.
    void restart(std::uint64_t now) noexcept {
        COFLUX_VERIFY(empty(), "a timing wheel starts anew while timers are armed");
        now_ = now;
    }

    /// The armed timers are another process's: this is the copy that fork() made of its wheel, and ends.
    void abandon() noexcept { rows_ = 0; }

    /// The latest tick that advance or expire was given.
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
    /// True if no timer is armed.
    [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }

    /// Arms `timer`. A deadline that has passed counts as now(): it expires at the next advance.
    /// Costs: O(1).
    /// Pre: not armed.
    /// Lifetime: `timer` stays where it is while it is armed.
    COFLUX_INLINE void insert(timer_node& timer, std::uint64_t deadline) noexcept {
        COFLUX_VERIFY(!timer.armed(), "a timer is armed twice");
        timer.deadline_ = deadline;
        append(timer, deadline > now_ ? slot_for(deadline) : late);
    }

    /// Disarms `timer`; false if it was not armed, because it was never armed or has been handed out.
    /// Costs: O(1).
    /// Pre: if it is armed, it is in this wheel.
    COFLUX_INLINE bool cancel(timer_node& timer) noexcept {
        if (!timer.armed()) return false;
        timer_link* const next = timer.next;
        timer_link* const prev = timer.prev;
        next->prev = prev;
        prev->next = next;
        timer.next = nullptr;
        if (next == prev) became_empty(next);
        return true;
    }

    /// No timer expires before the tick returned; `never` if none is armed. It is the tick of the next one, unless a
    /// timer was cancelled that was the earliest of its slot: then it may be earlier, and after `advance` to it, later.
    /// now() if there is something to hand out already.
    /// Costs: O(1).
    [[nodiscard]] COFLUX_INLINE std::uint64_t next_deadline() const noexcept {
        if (rows_ == 0) return never;
        const auto row = static_cast<unsigned>(std::countr_zero(rows_));
        if (row == 0) return now_;
        return slot_at(first_of(row)).earliest;
    }

    /// Moves the present to `now`, and calls `f(timer_node&)` for each timer whose deadline it has reached: in order of
    /// the deadlines, equal ones in the order of their arming. A timer is disarmed before its call.
    /// Shapes: what `f` arms for a time that has passed waits for the next advance.
    /// Returns: the number of calls.
    /// Costs: O(1) if nothing is due; a timer moves at most once a level, whatever its distance. Time does not go back:
    /// an earlier `now` counts as now().
    template <timer_callback F>
    std::size_t advance(std::uint64_t now, F&& f) noexcept {
        expire(now);
        std::size_t calls = 0;
        for (timer_node* timer = take(); timer != nullptr; timer = take()) {
            ++calls;
            f(*timer);
        }
        return calls;
    }

    /// The two halves of advance, for a caller that hands out timers in portions: moves the present to `now` and what
    /// is due to the list of the expired, behind what is left there.
    void expire(std::uint64_t now) noexcept;
    /// Hands out the first of the expired, disarmed; nullptr if there is none. A timer in that list can be cancelled.
    COFLUX_INLINE timer_node* take() noexcept {
        timer_link* const first = slot_at(expired).head.next;
        if (first == &slot_at(expired).head) return nullptr;
        auto* const timer = static_cast<timer_node*>(first);
        cancel(*timer);
        return timer;
    }

private:
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned row_slots = 1U << digit_bits;  // as many as a word has bits
    static constexpr unsigned levels = (64 + digit_bits - 1) / digit_bits;
    static constexpr unsigned top_slots = 1U << (64 - digit_bits * (levels - 1));

    // A position is a number: row * 64 + digit. Level n is row n + 1. Row 0 has two lists, at its end, so that the
    // slots of all rows are without a gap.
    static constexpr unsigned late = row_slots - 2;     // armed for a time that had passed
    static constexpr unsigned expired = row_slots - 1;  // due, waiting to be handed out
    static constexpr unsigned slot_count = 2 + (levels - 1) * row_slots + top_slots;

    /// An empty slot: `head` names itself twice, `earliest` is never, its bit is clear.
    struct slot {
        timer_link head;
        std::uint64_t earliest;  // no later than any deadline in the slot
    };

    slot& slot_at(unsigned at) noexcept { return slots_[at - late]; }
    const slot& slot_at(unsigned at) const noexcept { return slots_[at - late]; }
    unsigned first_of(unsigned row) const noexcept {
        return row * row_slots + static_cast<unsigned>(std::countr_zero(occupied_[row]));
    }
    /// The slot of a deadline later than the present.
    COFLUX_INLINE unsigned slot_for(std::uint64_t deadline) const noexcept {
        const unsigned level = (static_cast<unsigned>(std::bit_width(deadline ^ now_)) - 1) / digit_bits;
        const auto digit = static_cast<unsigned>(deadline >> (level * digit_bits)) % row_slots;
        return (level + 1) * row_slots + digit;
    }
    COFLUX_INLINE void append(timer_node& timer, unsigned at) noexcept {
        slot& s = slot_at(at);
        timer_link* const last = s.head.prev;
        timer.next = &s.head;
        timer.prev = last;
        last->next = &timer;
        s.head.prev = &timer;
        if (timer.deadline_ < s.earliest) s.earliest = timer.deadline_;
        mark(at);
    }
    COFLUX_INLINE void mark(unsigned at) noexcept {
        occupied_[at / row_slots] |= std::uint64_t{1} << (at % row_slots);
        rows_ |= 1U << (at / row_slots);
    }
    COFLUX_INLINE void unmark(unsigned at) noexcept {
        std::uint64_t& row = occupied_[at / row_slots];
        row &= ~(std::uint64_t{1} << (at % row_slots));
        if (row == 0) rows_ &= ~(1U << (at / row_slots));
    }
    COFLUX_INLINE void became_empty(timer_link* head) noexcept {
        // By address, not by deadline: that the timer was in this wheel is what is to be checked.
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(head) - reinterpret_cast<std::uintptr_t>(slots_);
        const std::uintptr_t index = offset / sizeof(slot);
        COFLUX_VERIFY(index < slot_count, "a timer is cancelled in a wheel that it is not in");
        slots_[index].earliest = never;
        unmark(late + static_cast<unsigned>(index));
    }
    void move_to_expired(unsigned from) noexcept;
    void open(unsigned from) noexcept;

    std::uint64_t now_;
    std::uint32_t rows_ = 0;                   // a bit for each row that is not empty
    std::uint64_t occupied_[levels + 1] = {};  // a bit for each slot that is not empty
    slot slots_[slot_count];
};

}  // namespace coflux::detail
