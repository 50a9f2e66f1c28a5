// What the core's own sources may touch in environments; private to the library.
#pragma once

#include <coflux/core/environment.hpp>
#include <coflux/core/environment_object.hpp>
#include <coflux/core/promise_base.hpp>

namespace coflux::detail {

/// From now on a failed check prints where the running coroutine and those above it stand.
void enable_back_trace() noexcept;

struct environment_access {
    static bool is_object(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_object) != 0;  // set before anybody else knows e
    }
    static environment* parent(const environment& e) noexcept { return e.parent_; }
    static const environment_data& data(const environment& e) noexcept { return *e.data_; }
    static environment_object& object(environment& e) noexcept { return static_cast<environment_object&>(e); }
    static promise_base& coroutine(environment& e) noexcept { return static_cast<promise_base&>(e); }

    /// The coroutine in whose scope an environment object was derived; nullptr below a root.
    static environment* owner(const environment& e) noexcept {
        environment* o = e.parent_;
        while (o != nullptr && is_object(*o)) o = o->parent_;
        return o;
    }
    static promise_base* joiner(environment& e) noexcept { return object(e).joiner_; }
    static atomic<std::int32_t>& remaining(environment& e) noexcept { return e.remaining_; }
    static std::int32_t& children(environment& e) noexcept { return e.children_; }
    static const executor_entry* executor(environment& e) noexcept { return e.executor_; }

    /// Remembers a failed child's error for the end of the scope, and forgets those at hand that were observed since.
    static void record(environment& e, failure& f) noexcept;
    /// The unobserved failures of a joined scope, first one first, as one; nullptr if there is none. The caller owns
    /// a reference.
    static failure* collect(environment& e, failure* first) noexcept;

    class failures_guard;

    static void list(environment& e, frame_control& c) noexcept;
    static void unlist(environment& e, frame_control& c) noexcept;
};

}  // namespace coflux::detail
