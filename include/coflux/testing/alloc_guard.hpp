// alloc_guard: a part of a test allocates so often, and no more.
#pragma once

#include <cstddef>
#include <source_location>

#include <coflux/base/atomic.hpp>

namespace coflux::testing {
namespace detail {

// A replaced operator new writes it (replace_new.hpp). A count only: relaxed throughout, because what is counted on
// one thread is read on that thread or after a join.
inline constinit coflux::detail::atomic<std::size_t> new_calls{0};
inline constinit coflux::detail::atomic<std::size_t> new_bytes{0};
// true: it fails.
inline constinit coflux::detail::atomic<bool> new_fails{false};
// false: the program's operator new is not replaced; true: it is. Set before main.
inline constinit coflux::detail::atomic<bool> new_is_counted{false};

}  // namespace detail

/// True if this program counts its calls of operator new: one of its files includes `<coflux/testing/replace_new.hpp>`,
/// and it is built without AddressSanitizer and ThreadSanitizer.
[[nodiscard]] inline bool counts_new() noexcept {
    return detail::new_is_counted.load(coflux::detail::memory_order_relaxed);
}
/// How often operator new was called so far, by all threads; 0 in a program that does not count.
[[nodiscard]] inline std::size_t new_calls() noexcept {
    return detail::new_calls.load(coflux::detail::memory_order_relaxed);
}

/// While it lives, operator new is called as often as was said: `const alloc_guard none;`. Or the allocations of one
/// memory resource: `const alloc_guard one(memory, 1);`.
///
/// Shapes: a resource is anything with `allocations()`, as counting_resource and failing_resource.
/// Errors: the destructor reports a test failure (report.hpp) that says how often it was, unless an exception unwinds
/// it.
/// Threads: it counts what all threads do.
/// Costs: none where operator new is not counted: then a guard of operator new checks nothing, and counts_new() says
/// so.
/// Lifetime: a resource outlives it.
class [[nodiscard("it guards what runs until it dies: give it a name")]] alloc_guard {
public:
    /// Exactly `calls` of operator new.
    explicit alloc_guard(std::size_t calls = 0, std::source_location where = std::source_location::current()) noexcept
        : alloc_guard(nullptr, [](const void*) noexcept { return new_calls(); }, calls, calls, where) {}
    /// Exactly `allocations` of `resource`.
    template <typename Resource>
        requires requires(const Resource& r) { r.allocations(); }
    explicit alloc_guard(const Resource& resource, std::size_t allocations = 0,
                         std::source_location where = std::source_location::current()) noexcept
        : alloc_guard(&resource, &count_of<Resource>, allocations, allocations, where) {}
    /// From none up to `calls` of operator new.
    static alloc_guard at_most(std::size_t calls,
                               std::source_location where = std::source_location::current()) noexcept {
        return alloc_guard(nullptr, [](const void*) noexcept { return new_calls(); }, 0, calls, where);
    }
    /// From none up to `allocations` of `resource`.
    template <typename Resource>
        requires requires(const Resource& r) { r.allocations(); }
    static alloc_guard at_most(const Resource& resource, std::size_t allocations,
                               std::source_location where = std::source_location::current()) noexcept {
        return alloc_guard(&resource, &count_of<Resource>, 0, allocations, where);
    }
    alloc_guard(const alloc_guard&) = delete;
    alloc_guard& operator=(const alloc_guard&) = delete;
    ~alloc_guard();

    /// How often so far.
    [[nodiscard]] std::size_t count() const noexcept { return count_(of_) - before_; }

private:
    using counter = std::size_t (*)(const void*) noexcept;
    alloc_guard(const void* of, counter count, std::size_t least, std::size_t most,
                std::source_location where) noexcept;

    template <typename Resource>
    static std::size_t count_of(const void* of) noexcept {
        return static_cast<const Resource*>(of)->allocations();
    }

    const void* of_;  // nullptr: operator new
    counter count_;
    std::size_t least_;
    std::size_t most_;
    std::size_t before_;
    int exceptions_;
    std::source_location where_;
};

}  // namespace coflux::testing
