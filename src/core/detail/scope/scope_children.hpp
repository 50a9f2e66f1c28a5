// The children of a scope: where they are counted, the list that an environment object has of its own, and the
// coroutine that waits for these.
#pragma once

#include <coflux/core/detail/scope/child_count.hpp>
#include <coflux/core/environment_object.hpp>

#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {

class scope_children {
public:
    static child_count& count(environment& e) noexcept { return e.own_.children; }

    /// The environment in which a child of the object `e`, or of an object further down, is counted, too; nullptr:
    /// there is none. If that environment is stopped, the object or the generator dies with its locals, and must not
    /// die before its children.
    static environment* counted_with(const environment& e) noexcept {
        if (environment_tree::is_object(e)) return environment_tree::owner(e);
        return environment_tree::is_generator(e) ? environment_tree::parent(e) : nullptr;
    }
    /// Counts a child that is made in `e`, and not by `e` itself. All these scopes are open while the creator runs.
    static child_added add_atomically(environment& e) noexcept {
        const child_added result = count(e).add_atomically();
        if (!environment_tree::is_object(e)) return result;
        for (environment* o = counted_with(e); o != nullptr; o = counted_with(*o)) (void)count(*o).add_atomically();
        return result;
    }
    /// `e`, a coroutine, is stopped and its children are joined: its locals may make more until they are dead.
    static void reopen(environment& e) noexcept {
        e.marks_.fetch_or(environment::unwinds, memory_order_relaxed);  // pairs with nothing: for this thread
        count(e).reopen();
    }
    /// True of a coroutine that has waited for its children, and of which what is left dies on this thread.
    static bool is_joined(const environment& e) noexcept {
        // relaxed, pairs with nothing: this thread has been given the coroutine since.
        return (e.marks_.load(memory_order_relaxed) & environment::unwinds) != 0 || e.own_.children.is_joined();
    }

    // Pre: `e` is an object.
    static void list(environment& e, frame_control& child) noexcept;
    static void unlist(environment& e, frame_control& child) noexcept;
    /// The coroutine that joins it; nullptr: there is none.
    static promise_base* joiner(environment& e) noexcept {
        return object(e).joiner_ != nullptr ? object(e).joiner_->p_ : nullptr;
    }
    /// No child is left: true if the caller goes on with joiner().
    static bool end_join(environment& e) noexcept {
        environment_object::join_awaiter& join = *object(e).joiner_;
        if (!join.relay_.over()) return false;
        join.end();
        return true;
    }

private:
    static root_links& links_of(frame_control& child) noexcept { return reinterpret_cast<root_links*>(&child)[-1]; }
    static environment_object& object(environment& e) noexcept { return static_cast<environment_object&>(e); }
};

}  // namespace coflux::detail
