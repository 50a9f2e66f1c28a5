// The threads of a blocking pool, their queue and their end. The page docs/design/blocking_pool.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include <coflux/base/atomic.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/executor/blocking_pool.hpp>

#include "../../os/process/process.hpp"
#include "../../os/thread/parker.hpp"

namespace coflux::detail {

/// One thread of a pool. Freed by the one that joins it, or by itself if it was detached.
struct blocking_thread {
    os::parker parker;  // one token for its start, and one for each time that it is taken off the idle
    // Guarded by the lock of the pool:
    bool idle = false;                    // in the list of the idle
    bool detached = false;                // no thread joins it
    blocking_thread* next = nullptr;      // in the list of the idle, or of those that run an abandoned job
    blocking_thread* previous = nullptr;  //
    thread self;                          // written before the first token
};

class blocking_threads {
public:
    explicit blocking_threads(blocking_pool_options options);
    blocking_threads(const blocking_threads&) = delete;
    blocking_threads& operator=(const blocking_threads&) = delete;

    /// Before a wait of `p` begins: it suspends to this thread, which has resumed it and will look for a job at once.
    [[nodiscard]] bool looks_at_once(promise_base& p) const noexcept;
    /// Queues `j` for the wait `w`, which has begun; false if `w` must stop, and then it did not. Both may be gone when
    /// it returns true. `finds_it_itself`: looks_at_once().
    /// Errors: std::system_error or std::bad_alloc if no thread can be had and there is none; then it did not.
    [[nodiscard]] bool submit(blocking_job& j, wait_operation& w, bool finds_it_itself);

    /// The state in which a stop request found a job.
    enum class claimed : std::uint8_t {
        no,           ///< it has ended, has not been queued, or the coroutine must wait for it
        from_queue,   ///< it will not run
        from_thread,  ///< it belongs to the thread that runs it
    };
    claimed claim(blocking_job& j) noexcept;

    [[nodiscard]] blocking_pool_counters counters() const noexcept;

    /// Which jobs the end waits for.
    enum class ends_after : std::uint8_t { all, all_but_abandoned };
    /// Waits for jobs and threads. False in a child of fork(), and on one of its threads: all is as it was.
    bool end(ends_after which) noexcept;
    [[nodiscard]] bool runs_this_thread() const noexcept;
    /// In a child of fork(): it stays, because the threads of the parent stood on it.
    void keep() noexcept;

private:
    using lock_held = unique_lock<mutex>;

    // Without the lock:
    /// A thread that waits for its token; nullptr: none can be had, because of `error`.
    [[nodiscard]] blocking_thread* start(std::exception_ptr& error) noexcept;
    void serve(blocking_thread& self) noexcept;
    /// Calls what `j` is, and takes the next in its place. True if there is none and the thread is idle.
    [[nodiscard]] bool run(blocking_job*& j, blocking_thread& self) noexcept;
    /// Parks. False if its time has passed, and it has left.
    [[nodiscard]] bool is_woken(blocking_thread& self) noexcept;

    // With the lock, without it when they return:
    /// No thread can be had, and there is none: what waits for one will not run.
    void fail_all(lock_held& held, const std::exception_ptr& error) noexcept;
    /// The last of the thread, which then touches the pool no more.
    void leave(blocking_thread& self, lock_held& held) noexcept;

    // With the lock:
    [[nodiscard]] blocking_job* take(blocking_thread& self) noexcept;
    void rest(blocking_thread& self) noexcept;
    [[nodiscard]] blocking_thread* pop_idle() noexcept;
    [[nodiscard]] bool has_ended(ends_after which) const noexcept {
        return threads_ == (which == ends_after::all ? 0 : abandoned_threads_);
    }

    static constinit atomic<blocking_threads*> kept;  // so that what looks for lost memory finds them
    blocking_threads* next_kept_ = nullptr;

    const blocking_pool_options options_;
    os::process_mark process_;
    os::parker ender_;    // the thread in end()
    mutable mutex lock_;  // guards what is below
    intrusive_queue<blocking_job> queue_;
    std::size_t queued_ = 0;  // in queue_
    intrusive_list<blocking_thread> idle_;
    std::size_t idle_threads_ = 0;               // in idle_
    std::size_t threads_ = 0;                    // that exist, or are being made
    intrusive_list<blocking_thread> abandoned_;  // that run a job for no coroutine
    std::size_t abandoned_threads_ = 0;          // in abandoned_
    blocking_thread* left_ = nullptr;            // the last that left, to be joined; it joins the one before
    bool ends_ = false;
};

}  // namespace coflux::detail
