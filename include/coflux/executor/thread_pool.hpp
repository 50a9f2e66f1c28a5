// thread_pool_executor: a work-stealing pool of threads.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <coflux/core/executor.hpp>
#include <coflux/executor/priority.hpp>

namespace coflux {

namespace detail {
class thread_pool;
}  // namespace detail

/// The fence that orders a worker's pop of its newest fork against thieves.
enum class pop_order {
    automatic,  ///< as the system allows: by_thief, else by_owner
    by_thief,   ///< a theft of what its owner has not shared calls membarrier(): 0.3 to 11 us and an interrupt of the
                ///< victim; a pop is a plain store
    by_owner,   ///< each pop has a locked instruction, 2 ns on some processors, 6 ns and more on other ones
};

/// Which events of its workers a pool keeps, for inspect::write_trace().
enum class trace_level : std::uint8_t {
    off,
    scheduling,  ///< which coroutine a worker runs, where it has taken that, when it has no work, and spans
    all,         ///< also each fork and each wake-up, with what they lead to: forks and awaits take longer for it
};

/// How a thread pool is made.
struct thread_pool_options {
    std::size_t threads = 0;      ///< number of worker threads, exactly; 0: as many as the process may use processors
    std::string name = "coflux";  ///< threads are called name-0, name-1, …; the system cuts it to 15 characters
    /// Binds worker i to the i-th processor of topology::binding_order(): cores before SMT siblings, neighbours in
    /// turn. Workers then steal from near ones first.
    bool pin = false;
    /// How long a worker without work keeps looking before it parks, at most. It looks for less where work comes later
    /// again and again, and not at all after it has served sockets, whose next event wakes it, where the process has
    /// one processor, or where more workers are awake than processors. To wake a parked worker costs the waker 5 to 10
    /// us, and the woken worker 10 to 30 us more; looking costs one core for as long. 0 parks at once. While other
    /// workers make forks that they pop themselves, one parked worker looks again after 31 to 500 us, so that a fork
    /// that they leave does not wait for long.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    /// How near the next deadline of a worker must be for it to keep looking until then and not to park. A worker that
    /// parks runs some 12 us late, up to 35 us after a long time; one that looks, well under 1 us. It costs a core for
    /// as long before each deadline: with 100 us and a tick of 1 ms, 10 %. 0: never.
    std::chrono::nanoseconds timer_spin = std::chrono::nanoseconds(0);
    /// How long the oldest fork of a worker may wait beside its maker, which forks and awaits on (docs/promises.md, law
    /// 8). Each time gives up the depth-first order that bounds the memory of a tree. At least 1 us.
    std::chrono::nanoseconds oldest_wait = std::chrono::milliseconds(1);
    /// How long a worker is parked, without a break, before it gives the memory of freed frames back to the
    /// system and the heap: its own, and when all are parked the reserve of all threads, if none has used that
    /// meanwhile; else it looks again after as long. It wakes up for each look. Memory that it gave back must be warmed
    /// up again. nanoseconds::max(): never; frame_pool::trim() does so by hand.
    std::chrono::nanoseconds keep_memory = std::chrono::seconds(1);
    /// Measures how long each resumption takes, by two readings of the clock, and every 100 us how long a coroutine
    /// that is ready waits for its turn: histograms among the metrics (docs/howto/metrics.md).
    bool histograms = false;
    trace_level trace = trace_level::off;
    /// How many events of a worker are kept, rounded up to a power of two; older ones are dropped. 32 bytes each.
    std::size_t trace_events = std::size_t{1} << 15;
    pop_order pops = pop_order::automatic;  ///< by_thief where the system refuses it: std::system_error
};

/// Counters of one worker since the pool began; a snapshot.
struct worker_counters {
    std::uint64_t
        resumed;  ///< coroutines taken from a queue and resumed; those run in place by an await are not counted
    std::uint64_t stolen;    ///< of those, taken from another worker
    std::uint64_t injected;  ///< taken from the queue for outsiders
    std::uint64_t sleeps;    ///< times the worker parked
    std::uint64_t wakes;     ///< times it woke another worker
    std::uint64_t looks;     ///< times it looked for work without having been woken, as the look-out, and found none
};

/// A work-stealing pool of threads.
///
/// A coroutine that forks on its own pool pushes to its own worker's queue; an await of the youngest fork there pops it
/// and runs it. Other workers steal the oldest. Coroutines from outside go through one queue of the pool. The
/// coroutine at the head of a queue is served within two to four rounds of at most 61 resumptions, and the oldest fork
/// of a worker within 1 ms and four resumptions (docs/promises.md, law 8).
///
/// A timer of a coroutine belongs to the worker on which it was armed. If that computes, a thread of the process that
/// watches the pools hands it out: at the latest 1 ms after its time.
///
/// Shapes: owns its threads. Movable; moving does not disturb what runs. The destructor runs what is queued, then ends
/// the threads.
/// Errors: std::system_error when the system has no more threads, or refuses pop_order::by_thief. A coroutine that
/// still sleeps on it when it ends, or is to go on upon it later, is a checked error that names it.
/// Threads: execute() from any thread.
/// Costs: 3 ns to queue a fork from a worker; idle workers park and cost nothing.
/// Lifetime: outlives the environments that name it; not destroyed on one of its own threads.
class thread_pool_executor {
public:
    /// `threads` workers; 0: as many as the process may use processors, by its affinity and the quota of its control
    /// groups.
    explicit thread_pool_executor(std::size_t threads = 0);
    explicit thread_pool_executor(thread_pool_options options);
    thread_pool_executor(thread_pool_executor&&) noexcept;
    thread_pool_executor& operator=(thread_pool_executor&&) noexcept;
    ~thread_pool_executor();

    /// Queues `h`: on the calling worker if it is one of this pool's, else on the queue for outsiders.
    void execute(std::coroutine_handle<> h) noexcept;

    /// The same threads for coroutines that go before those of this executor, or after them.
    template <priority Level>
    [[nodiscard]] prioritised<Level> at() const noexcept {
        return prioritised<Level>(identity_at(Level));
    }

    /// Number of worker threads.
    [[nodiscard]] std::size_t size() const noexcept;
    /// A snapshot of each worker's counters.
    [[nodiscard]] std::vector<worker_counters> counters() const;
    /// An object that was moved to is the same pool.
    [[nodiscard]] void* identity() const noexcept;
    /// execute() by identity: what environments use, so that the object may be moved while they name it.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept;

private:
    [[nodiscard]] void* identity_at(priority p) const noexcept;

    detail::thread_pool* pool_;  // its own; nullptr: moved from
};
static_assert(executor<thread_pool_executor>);

}  // namespace coflux
