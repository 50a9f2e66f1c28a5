// One operation of I/O that a thread of a blocking pool does where it cannot be had at once. The page
// docs/design/file.md has its states.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/executor/detail/blocking_job.hpp>

namespace coflux {

class blocking_pool;

namespace detail {

/// The base of its awaiter.
class pool_operation : private blocking_job, private blocking_wait {
public:
    pool_operation(const pool_operation&) = delete;
    pool_operation& operator=(const pool_operation&) = delete;

    [[nodiscard]] bool await_ready() noexcept;
    /// Errors: as blocking(); then it has not been done.
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);
    /// await_suspend() under as_result(): what that throws is kept.
    std::coroutine_handle<> suspend_with_result() noexcept;

protected:
    /// Its steps. One thread at a time calls them.
    struct steps {
        /// Ends it without waiting for the system, or does a part of it, or nothing: false. nullptr: it cannot.
        bool (*at_once)(pool_operation& op) noexcept;
        /// Ends it.
        void (*wholly)(pool_operation& op) noexcept;
        const char* what;  ///< "read from"
        bool syncs = false;
    };
    /// `waiting` counts the operations that wait for the pool; nullptr: nothing needs to know. Its owner closes nothing
    /// while it is not 0. `line`: waits there, in a simulation; nullptr: for a thread.
    pool_operation(promise_base& p, blocking_threads& threads, atomic<std::uint32_t>* waiting, const steps& does,
                   job_line* line = nullptr) noexcept
        : blocking_job(how_it_runs),
          blocking_wait(p, threads, *this, line),
          does_(does),
          waiting_(waiting),
          coroutine_(p) {}
    ~pool_operation() { leave(); }

    /// await_resume(), first.
    /// Errors: what kept the pool from having a thread.
    void done() {
        resumed();
        leave();
        if (no_thread_ != nullptr) std::rethrow_exception(no_thread_);
    }
    /// The same under as_result(): an error of the system that kept the pool from having a thread is that of the
    /// operation.
    /// Errors: std::bad_alloc.
    void done_with_result();
    /// None if it did not fail.
    [[nodiscard]] std::error_code error() const noexcept;
    /// Errors: std::system_error, of what was done to `what`.
    [[noreturn]] void fail(const std::string& what, const std::uint64_t* offset = nullptr) const;

    std::ptrdiff_t result_ = 0;  // negative: the error of the system
    std::size_t count_ = 0;      // bytes moved

private:
    static bool run(blocking_job& j) noexcept;
    static void fail_job(blocking_job& j, const std::exception_ptr& error) noexcept;
    static const blocking_job_kind how_it_runs;

    void leave() noexcept;

    const steps& does_;
    atomic<std::uint32_t>* waiting_;  // up by the coroutine, relaxed; down with release when the thread is done with it
    promise_base& coroutine_;
    std::exception_ptr no_thread_;
    bool is_over_ = false;  // it ended at once
    bool counted_ = false;  // in waiting_
};

}  // namespace detail
}  // namespace coflux
