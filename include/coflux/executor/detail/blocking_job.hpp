// A call on a thread that may block, without its types. The page docs/design/blocking_pool.md has its states.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

class blocking_job;
struct blocking_thread;
class blocking_threads;

/// The steps of a kind of job on the threads of a pool.
struct blocking_job_kind {
    /// Calls the function, and keeps what it gives. False if it threw.
    bool (*run)(blocking_job& j) noexcept;
    /// In place of run(): no thread can be had.
    void (*fail)(blocking_job& j, const std::exception_ptr& error) noexcept;
    /// Destroys a job that a stop leaves to its thread. nullptr: the coroutine waits for it.
    void (*destroy)(blocking_job& j) noexcept;
};

/// See docs/design/blocking_pool.md.
enum class blocking_state : std::uint8_t {
    resting,     ///< in no queue, and its function has not begun
    queued,      ///< no thread has taken it
    running,     ///< a thread calls the function; the coroutine waits
    stop_asked,  ///< the same, and the coroutine is to stop
    abandoned,   ///< a thread calls the function; the coroutine has gone on
    done,        ///< the coroutine is being woken, or was
};

/// Threads: guarded by the lock of its pool while it is queued, else its owner's: the coroutine, or the thread that
/// runs it.
class blocking_job {
public:
    explicit blocking_job(const blocking_job_kind& k) noexcept : kind(&k) {}
    blocking_job(const blocking_job&) = delete;
    blocking_job& operator=(const blocking_job&) = delete;

    blocking_job* next = nullptr;       // in the pool's queue
    blocking_job* previous = nullptr;   //
    wait_operation* waiter = nullptr;   // until it is abandoned
    blocking_thread* thread = nullptr;  // that runs it
    const blocking_job_kind* const kind;
    blocking_state state = blocking_state::resting;  // guarded by the lock of its pool

protected:
    ~blocking_job() = default;
};

/// Where jobs of a simulation wait, in place of a pool's queue: docs/design/sim_disk.md.
class job_line {
public:
    job_line(const job_line&) = delete;
    job_line& operator=(const job_line&) = delete;

    /// As blocking_threads::submit().
    [[nodiscard]] virtual bool submit(blocking_job& j, wait_operation& w) noexcept = 0;
    /// Takes out a job that has not begun: true.
    virtual bool claim(blocking_job& j) noexcept = 0;

protected:
    job_line() = default;
    ~job_line() = default;
};

/// The wait of a coroutine for a job; the base of its awaiter.
class blocking_wait : private wait_operation {
protected:
    /// `line`: waits there, and for no thread. nullptr: it does not.
    blocking_wait(promise_base& p, blocking_threads& of, blocking_job& j, job_line* line = nullptr) noexcept
        : wait_operation(p, how_it_stops),
          of_(of),
          job_(&j),
          line_(line) {}
    ~blocking_wait() = default;

    /// The result for await_suspend. In a simulation the function has been called then, unless it waits in a line.
    std::coroutine_handle<> suspend();
    using wait_operation::resumed;
    /// nullptr: its thread owns it.
    [[nodiscard]] blocking_job* job() const noexcept { return job_; }

private:
    static bool claim(wait_operation& waiting) noexcept;
    static const wait_kind how_it_stops;

    std::coroutine_handle<> run_here() noexcept;

    blocking_threads& of_;
    blocking_job* job_;  // changed by a stopper, before it resumes the coroutine
    job_line* line_;
};

}  // namespace coflux::detail
