// The errors of a scope's children, until the scope ends.
#pragma once

#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/environment_object.hpp>

namespace coflux::detail {

class scope_failures {
public:
    /// Remembers a failed child's error for the end of the scope, and forgets the errors at hand that were observed
    /// since. Unless an operation `is_told` of it, it stops a scope that stops on errors.
    static void record(environment& of, failure& f, bool is_told = false) noexcept;
    /// The scope in which record() puts an error of a child of `e`: that of a generator for what it makes its children
    /// in.
    static environment& scope_of(environment& e) noexcept;
    /// Whether a joined scope has one, observed or not.
    static bool has_any(const environment& e) noexcept;
    /// Whether a joined scope has one.
    static bool has_unobserved(const environment& e) noexcept;
    /// The unobserved failures of a joined scope, first one first, as one; nullptr if there is none. The caller owns
    /// a reference.
    static failure* collect(environment& e, failure* first) noexcept;
    /// The error that stopped the object `e`, with a reference that is the caller's now; nullptr: there is none.
    static failure* take_cause(environment& e) noexcept;

private:
    friend class wait_records;
    class guard;

    /// The failures of a scope, youngest first. Under the guard, or when no other thread is left in the scope.
    static failure* youngest(const environment& e) noexcept;
    static void set_youngest(environment& e, failure* f) noexcept;
    /// The same, of a scope that has no record of waits.
    static failure* own_youngest(const environment& e) noexcept {
        // relaxed: set under the guard.
        const bool has = (e.marks_.load(memory_order_relaxed) & environment::has_failures) != 0;
        return has ? e.failures_ : nullptr;
    }
    static void set_own_youngest(environment& e, failure* f) noexcept {
        e.failures_ = f;
        e.marks_.fetch_or(environment::has_failures, memory_order_relaxed);  // pairs with nothing: under the guard
    }
    static environment_object& object(environment& e) noexcept;
    /// An error of a child, or of its block, stops `e`, which has children and has not been stopped.
    static bool stops_for(environment& e) noexcept;
};

/// Holds the lock of a scope's failures, and of its way to a record of waits, for a few instructions.
class scope_failures::guard {
public:
    explicit guard(environment& e) noexcept : marks_(e.marks_) {
        // acquire pairs with the release below: the list as the last holder left it.
        // [join.failures.lock]
        while ((marks_.fetch_or(environment::failures_locked, memory_order_acquire) & environment::failures_locked) !=
               0)
            cpu_pause();
    }
    // [join.failures.unlock]
    ~guard() { marks_.fetch_and(~environment::failures_locked, memory_order_release); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    atomic<std::uint32_t>& marks_;
};

}  // namespace coflux::detail
