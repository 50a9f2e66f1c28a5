// prioritised: coroutines of a thread pool that go before its others, or after them.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/core/executor.hpp>

namespace coflux {

class thread_pool_executor;

/// Says which coroutines of a pool go before the others, or after them.
enum class priority : std::uint8_t {
    high,  ///< before: what is short and must be soon, as an answer that somebody waits for
    low,   ///< after: what may take its time, as an index that is built in the background
};

namespace detail {
void execute_by_priority(void* identity, std::coroutine_handle<> h) noexcept;
}  // namespace detail

/// The threads of a pool, for coroutines of another priority: an executor that thread_pool_executor::at() gives.
///
/// `make_environment(pool, pool.at<priority::low>())` has both; a `fork<T, prioritised<priority::low>>` made in it, and
/// the children that name no executor, have low priority. Each step is queued anew, oldest first; no step that runs is
/// interrupted. High goes first between two rounds of a worker, which last 25 us, and for as long as three rounds
/// before the others have one. Low goes where a worker finds nothing else, and one step in 0.75 ms where it does
/// (docs/promises.md, law 8). A coroutine that holds a lock keeps its priority: one of high priority that waits for it
/// waits as long.
///
/// Shapes: a copyable name for the pool's threads; it may die before what runs on it. Copies, and the calls of at() for
/// one priority, name one executor.
/// Threads: execute() from any thread.
/// Costs: a lock for each step, and no fork runs in the await of its maker; timers and descriptors as on the pool.
/// Lifetime: as the pool, which outlives the environments that name it.
/// Example: examples/55_priorities.cpp
template <priority Level>
class prioritised {
public:
    /// Queues `h`.
    void execute(std::coroutine_handle<> h) noexcept { execute_on(identity_, h); }

    [[nodiscard]] void* identity() const noexcept { return identity_; }
    /// execute() by identity: what environments use, so that they do not need this object.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept {
        detail::execute_by_priority(identity, h);
    }

private:
    friend class thread_pool_executor;
    explicit prioritised(void* identity) noexcept : identity_(identity) {}

    void* identity_;
};
static_assert(executor<prioritised<priority::high>> && executor<prioritised<priority::low>>);

}  // namespace coflux
