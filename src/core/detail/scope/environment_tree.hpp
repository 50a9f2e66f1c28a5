// The kind of an environment, and those above it.
#pragma once

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// The marks that it reads are set before another thread knows the environment, and stay.
class environment_tree {
public:
    static bool is_object(const environment& e) noexcept { return has(e, environment::is_object); }
    static bool is_call(const environment& e) noexcept { return has(e, environment::is_call); }
    static bool is_generator(const environment& e) noexcept { return has(e, environment::is_generator); }
    static bool is_root(const environment& e) noexcept { return has(e, environment::is_root); }
    static bool is_borrowing(const environment& e) noexcept { return has(e, environment::borrows); }
    static bool is_shielded(const environment& e) noexcept { return has(e, environment::is_shielded); }

    /// Pre: `e` is no object.
    static promise_base& coroutine(environment& e) noexcept { return static_cast<promise_base&>(e); }
    static environment* parent(const environment& e) noexcept { return e.parent_.get(); }
    /// The coroutine in whose scope an environment object was derived; nullptr below a root.
    static environment* owner(const environment& e) noexcept {
        environment* o = parent(e);
        while (o != nullptr && is_object(*o)) o = parent(*o);
        return o;
    }

private:
    static bool has(const environment& e, std::uint32_t mark) noexcept {
        return (e.marks_.load(memory_order_relaxed) & mark) != 0;
    }
};

}  // namespace coflux::detail
