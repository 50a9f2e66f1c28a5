#include <coflux/time/detail/timing_wheel.hpp>

#include <algorithm>

namespace coflux::detail {

timing_wheel::timing_wheel(std::uint64_t now) noexcept : now_(now) {
    for (slot& s : slots_) s = {.head = {.next = &s.head, .prev = &s.head}, .earliest = never};
}

void timing_wheel::expire(std::uint64_t now) noexcept {
    // Armed for a time that had passed, so before everything in the levels.
    if ((occupied_[0] >> late & 1) != 0) move_to_expired(late);
    while (now > now_) {
        const std::uint32_t rows = rows_ & ~1U;
        if (rows == 0) break;
        const auto row = static_cast<unsigned>(std::countr_zero(rows));
        const unsigned at = first_of(row);
        // The slot's digit under the digits that its timers share with the present.
        const unsigned shift = (row - 1) * digit_bits;
        const std::uint64_t first_tick = ((now_ >> shift & ~std::uint64_t{row_slots - 1}) | at % row_slots) << shift;
        if (first_tick > now) break;
        // Nothing is earlier than `earliest`. It has the slot's digit, as `now` has if it is before it: so the timers
        // of the slot belong to lower levels, and the timers of all other slots stay where they are.
        now_ = std::min(slot_at(at).earliest, now);
        if (row == 1) {
            move_to_expired(at);
        } else {
            open(at);
        }
    }
    // Not beyond the first tick of a slot, so that all timers stay where they are.
    now_ = std::max(now_, now);
}

void timing_wheel::move_to_expired(unsigned from) noexcept {
    slot& s = slot_at(from);
    timer_link* const first = s.head.next;
    timer_link* const last = s.head.prev;
    timer_link& to = slot_at(expired).head;
    first->prev = to.prev;
    to.prev->next = first;
    last->next = &to;
    to.prev = last;
    s = {.head = {.next = &s.head, .prev = &s.head}, .earliest = never};
    unmark(from);
    mark(expired);
}

void timing_wheel::open(unsigned from) noexcept {
    slot& s = slot_at(from);
    timer_link* link = s.head.next;
    timer_link* back = s.head.prev;
    back->next = nullptr;
    s = {.head = {.next = &s.head, .prev = &s.head}, .earliest = never};
    unmark(from);
    while (link != nullptr) {
        auto& timer = static_cast<timer_node&>(*link);
        link = link->next;
        // A step to the next timer waits for memory, and the step after it for that one. A second walk from the back,
        // up to the middle, waits at the same time, and has its half in the cache when the first arrives. It does
        // nothing else; without the prefetch the compiler leaves it out.
        if (back != nullptr) {
            if (back == link || back == &timer) [[unlikely]] {
                back = nullptr;
            } else {
                back = back->prev;
                __builtin_prefetch(back);
            }
        }
        append(timer, timer.deadline_ > now_ ? slot_for(timer.deadline_) : expired);
    }
}

}  // namespace coflux::detail
