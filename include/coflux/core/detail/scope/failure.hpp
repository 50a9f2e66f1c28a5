// How the core carries an exception so that it cannot be lost (law 12).
#pragma once

#include <cstddef>
#include <exception>
#include <source_location>
#include <utility>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/core/errors.hpp>

namespace coflux::detail {

class failure;

/// The errors that came along with another, in their order: an immutable chain. A longer chain shares the part that it
/// begins with, so that an error that comes through many scopes, and takes one along from each, costs each of them the
/// same.
class error_chain {
public:
    error_chain() noexcept = default;
    error_chain(const error_chain& other) noexcept;
    error_chain(error_chain&& other) noexcept : last_(std::exchange(other.last_, nullptr)) {}
    error_chain& operator=(error_chain other) noexcept {
        std::swap(last_, other.last_);
        return *this;
    }
    ~error_chain() {
        if (last_ != nullptr) release(last_);
    }

    [[nodiscard]] bool empty() const noexcept { return last_ == nullptr; }
    /// Adds the error of `f`, whose reference it takes over, and what came with that.
    /// Costs: O(1). Without memory the program ends.
    void add(failure& f) noexcept;
    /// In their order.
    /// Errors: std::bad_alloc.
    /// Costs: O(n).
    [[nodiscard]] std::vector<std::exception_ptr> list() const;

private:
    friend class failure;
    struct link;

    static void release(link* l) noexcept;

    link* last_ = nullptr;
};

/// An error that lies in an outcome, with what came with it.
class kept_error {
public:
    /// With what came with it, if that is the error that this thread threw last.
    explicit kept_error(std::exception_ptr error) noexcept;
    kept_error(std::exception_ptr error, error_chain others) noexcept
        : error_(std::move(error)),
          others_(std::move(others)) {}

    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] const error_chain& others() const noexcept { return others_; }
    /// Throws it; other_errors() then returns the errors that came with it.
    [[noreturn]] void rethrow() const;

private:
    std::exception_ptr error_;
    error_chain others_;
};

/// A failed coroutine's exception, referred to by its frame, by the list of the scope that must not end before it was
/// observed, and by the errors that it came along with.
class failure {
public:
    explicit failure(std::exception_ptr error, error_chain others = {}, std::source_location where = {}) noexcept
        : error_(std::move(error)),
          others_(std::move(others)),
          where_(where) {}

    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] const error_chain& others() const noexcept { return others_; }
    /// Where the root stood that it came out of; nothing for that of another coroutine.
    [[nodiscard]] std::source_location where() const noexcept { return where_; }

    /// Throws the error and gives up the caller's reference; other_errors() then returns the errors that came with it.
    [[noreturn]] void rethrow();

    void observe() noexcept { observed_.store(true, memory_order_release); }  // pairs with observed()
    [[nodiscard]] bool observed() const noexcept {
        return observed_.load(memory_order_acquire);
    }  // pairs with observe()

    void retain() noexcept { references_.fetch_add(1, memory_order_relaxed); }
    void release() noexcept {
        // acq_rel pairs with the other releases: the deleting thread sees all uses.
        if (is_last()) delete this;
    }

    failure* next = nullptr;  ///< link in the scope's list; written under the scope's lock

private:
    friend class error_chain;

    ~failure() = default;
    [[nodiscard]] bool is_last() noexcept { return references_.fetch_sub(1, memory_order_acq_rel) == 1; }

    std::exception_ptr error_;
    error_chain others_;
    std::source_location where_;
    atomic<int> references_{1};
    atomic<bool> observed_{false};  // false: a scope that ends must fail with it; true: it was observed
};

/// Wraps the exception being handled. Out of memory here is fatal: the alternative is to lose the error.
[[nodiscard]] failure* current_failure(std::source_location where = {}) noexcept;

/// failure::where() of the last failure that this thread rethrew since forget_error_location().
[[nodiscard]] std::source_location last_error_location() noexcept;
void forget_error_location() noexcept;

/// The errors of `f` for one more list of a scope: a failure is in one at most. Out of memory is fatal.
[[nodiscard]] failure* failure_like(const failure& f) noexcept;

/// Makes one failure of several. A failure may be shared, so none is changed: two or more become a new one.
class joined_failures {
public:
    /// Adds `f`, whose reference it takes over.
    void add(failure& f) noexcept;
    /// The first with the others, in the order in which they were added; nullptr for none. Gives up what was added.
    [[nodiscard]] failure* release() noexcept;

private:
    failure* first_ = nullptr;
    bool alone_ = true;
    error_chain others_;  // with what came with the first; once it is not alone
};
/// One of `first`, if there is one, and then of the list `others`, which is linked by `next`; takes over a reference to
/// each. nullptr for none.
[[nodiscard]] failure* join_failures(failure* first, failure* others) noexcept;

/// Hands an error to the handler. If there is none, a driver of this thread may keep it; else it is printed and ends
/// the program.
void report_unobserved(error_handler handler, const failure& f) noexcept;
/// Hands the error of what a destructor could not do to the handler. If there is none, a driver of this thread may keep
/// it; else it is printed, and the program goes on: the object that it came from is gone in any case.
void report_from_destructor(error_handler handler, std::exception_ptr error) noexcept;

}  // namespace coflux::detail
