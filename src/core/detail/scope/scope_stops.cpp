#include "core/detail/scope/scope_stops.hpp"

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

void scope_stops::record(environment& of, promise_base& child) noexcept {
    // A request of the child itself is of the code that asked, and an operation that it was given to tells of its end.
    // A child that stops by itself has had no request. relaxed: the child has seen the request that stopped it.
    const std::uint32_t marks = child.marks_.load(memory_order_relaxed);
    if (child.is_given_away() || (marks & environment::asked_itself) != 0) return;
    // Its wait may have seen the mark of a request that is not counted yet.
    if ((marks & environment::stop_asked) == 0 && !child.is_stop_requested()) return;
    // relaxed: the child is released after this, and the scope looks when none is left.
    // [stop.cut_off.marks]
    scope_failures::scope_of(of).marks_.fetch_or(environment::cut_off, memory_order_relaxed);
}

void scope_stops::record_unshared(environment& of, promise_base& child) noexcept {
    if (!child.control().join.is_shared()) record(of, child);
}

void scope_stops::record_shared(environment& of, frame_control& child) noexcept {
    if (child.word.ended_stopped() && child.word.counted() != counting::none) record(of, promise_base::of(child));
}

bool scope_stops::take(environment& e) noexcept {
    // relaxed: no child is left.
    if ((e.marks_.load(memory_order_relaxed) & environment::cut_off) == 0) return false;
    const std::uint32_t marks = e.marks_.fetch_and(~environment::cut_off, memory_order_relaxed);
    // A request of an object is of the code that owns it: what it stops is not needed. One of a coroutine is not.
    if (environment_tree::is_object(e) && (marks & environment::asked_itself) != 0) return false;
    return (marks & environment::keeps_value) == 0;
}

bool scope_stops::concerns(environment& object, environment& asker) noexcept {
    // relaxed: one coroutine at a time joins.
    const std::uint32_t marks = object.marks_.fetch_or(environment::told_cut_off, memory_order_relaxed);
    return (marks & environment::told_cut_off) == 0 || asker.is_stop_requested();
}

void scope_stops::leave_to_owner(environment& e) noexcept {
    if (!take(e)) return;
    environment* const owner = environment_tree::owner(e);
    if (owner != nullptr && concerns(e, *owner)) owner->marks_.fetch_or(environment::cut_off, memory_order_relaxed);
}

}  // namespace coflux::detail
