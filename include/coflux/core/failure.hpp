// How the core carries an exception so that it cannot be lost (law 12).
#pragma once

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <coflux/base/atomic.hpp>

namespace coflux {

/// Handles an error that nobody can observe any more: that of a root whose handle died, or of a child left behind in
/// an environment.
using error_handler = void (*)(const std::exception_ptr& error) noexcept;

/// The errors that came with the one being handled: what else failed in the scope whose first error was thrown.
///
/// Valid in the handler that caught the exception, until the next rethrow on this thread; empty if it came alone.
/// Threads: the one that handles the exception. Costs: none.
[[nodiscard]] std::span<const std::exception_ptr> other_errors() noexcept;

namespace detail {

/// A failed coroutine's exception, shared by its frame and by the list of the scope that must not end before
/// somebody saw it.
class failure {
public:
    explicit failure(std::exception_ptr error) noexcept : error_(std::move(error)) {}

    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] const std::vector<std::exception_ptr>& others() const noexcept { return others_; }
    /// Adds an error that came along. Pre: nobody else knows this failure yet.
    /// Out of memory is fatal, as in current_failure().
    void add(const std::exception_ptr& other) noexcept;

    /// Throws the error and gives up the caller's reference; other_errors() then returns the others.
    [[noreturn]] void rethrow();

    void observe() noexcept { observed_.store(true, memory_order_release); }  // pairs with observed()
    [[nodiscard]] bool observed() const noexcept {
        return observed_.load(memory_order_acquire);
    }  // pairs with observe()

    void retain() noexcept { references_.fetch_add(1, memory_order_relaxed); }
    void release() noexcept {
        // acq_rel pairs with the other releases: whoever deletes sees all uses.
        if (references_.fetch_sub(1, memory_order_acq_rel) == 1) delete this;
    }

    failure* next = nullptr;  ///< link in the scope's list; written under the scope's lock

private:
    ~failure() = default;

    std::exception_ptr error_;
    std::vector<std::exception_ptr> others_;
    atomic<int> references_{1};
    atomic<bool> observed_{false};  // false: a scope that ends must fail with it; true: somebody has it
};

/// Wraps the exception being handled. Out of memory here is fatal: the alternative is to lose the error.
[[nodiscard]] failure* current_failure() noexcept;

/// Makes one failure of several: `first`, if there is one, then the others; takes over a reference to each. What several know
/// is not changed: more than one become a new failure. nullptr for none.
[[nodiscard]] failure* join_failures(failure* first, std::span<failure* const> others) noexcept;
/// The same with a chain of others, linked by `next`.
[[nodiscard]] failure* join_failures(failure* first, failure* others) noexcept;

/// Hands an error to the handler, or prints it and terminates if there is none.
void report_unobserved(error_handler handler, const failure& f) noexcept;

}  // namespace detail
}  // namespace coflux
