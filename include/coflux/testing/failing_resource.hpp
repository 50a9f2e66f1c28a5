// failing_resource: memory that runs out where a test says so, and remembers what was not freed.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <string>

#include <coflux/base/thread.hpp>

namespace coflux::testing {

/// Forwards to `upstream`; fails the allocations that the test names, and knows each block that is out.
///
/// Errors: std::bad_alloc where it is to fail; nothing reached `upstream` then. A block that is freed and is not out,
/// or with another size or alignment than it was taken with, is a test failure (report.hpp).
/// Threads: any.
/// Costs: a lock and a node of a map for each block; counting_resource costs less and knows less.
/// Lifetime: `upstream` outlives it.
class failing_resource final : public std::pmr::memory_resource {
public:
    explicit failing_resource(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) noexcept
        : upstream_(upstream) {}

    /// The `n`-th allocation from now (1 is the next) fails; 0: none does. Forgets what failed before.
    void fail_at(std::size_t n) noexcept;
    /// The `n`-th from now and all after it fail.
    void fail_from(std::size_t n) noexcept;
    /// How many allocations have failed since the last fail_at() or fail_from().
    [[nodiscard]] std::size_t failures() const noexcept;

    /// Allocations that were asked for, those that failed included.
    [[nodiscard]] std::size_t requests() const noexcept;
    /// Allocations that were given.
    [[nodiscard]] std::size_t allocations() const noexcept;
    /// Blocks that have not been freed.
    [[nodiscard]] std::size_t live() const noexcept;
    /// Those, in words: sizes, and which request each of them was. Empty if there is none.
    [[nodiscard]] std::string leaks() const;

private:
    struct block {
        std::size_t bytes;
        std::size_t alignment;
        std::size_t request;
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
    void arm(std::size_t n, bool goes_on) noexcept;

    std::pmr::memory_resource* upstream_;
    mutable coflux::detail::mutex lock_;  // guards what follows
    std::map<void*, block> blocks_;
    std::size_t requests_ = 0;
    std::size_t allocations_ = 0;
    std::size_t failures_ = 0;
    std::size_t fails_in_ = 0;  // 0: not armed
    bool goes_on_ = false;
};

}  // namespace coflux::testing
