// strand: coroutines on another executor, one at a time.
#pragma once

#include <coroutine>
#include <memory>

#include <coflux/core/executor.hpp>

namespace coflux {

namespace detail {

class strand_state;

/// The part of a strand that does not depend on the type of its executor.
class strand_handle {
public:
    /// A strand over the executor of `entry`.
    explicit strand_handle(const executor_entry& entry);
    strand_handle(strand_handle&&) noexcept;
    strand_handle& operator=(strand_handle&&) noexcept;
    ~strand_handle();

    [[nodiscard]] void* identity() const noexcept;
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept;

private:
    strand_state* state_;  // shared with the executor while something is queued; nullptr: moved from
};

}  // namespace detail

/// An executor that runs its coroutines on `E`, one at a time: never two at once, and what one does happens before the
/// next.
///
/// Coroutines that are posted to it run in the order of the posts. Those that it makes on itself, coroutines that go on
/// there, and what other threads post, have their turns one after the other; one that yields may have several steps in
/// its turn. A fork that its maker awaits as the newest runs in that await, as on a pool. A coroutine leaves the strand
/// whenever it suspends: what others do meanwhile it may see. No lock is held while a coroutine runs. After 61
/// resumptions, and fewer long ones, a strand goes to the end of the queue of `E`, so that it keeps nothing else
/// waiting.
///
/// Shapes: `E` schedules. Movable; moving does not disturb what runs. Coroutines that are queued when the strand dies
/// still run.
/// Errors: std::bad_alloc.
/// Threads: execute() from any thread.
/// Costs: one allocation of 3 KB when it is made; nothing while it is idle. 3 ns to queue from one of its own
/// coroutines; from outside a lock, and where nothing was queued a post to `E`.
/// Lifetime: outlives the environments that name it; `over` outlives the strand and what is queued on it.
/// Source: the strand of Boost.Asio.
template <executor E>
class strand {
    static_assert(!detail::starts_inline<E>,
                  "coflux: a strand needs an executor that schedules: a noop_executor does not");

public:
    explicit strand(E& over) : handle_(detail::entry_for(over)) {}

    /// Queues `h`.
    void execute(std::coroutine_handle<> h) noexcept { execute_on(identity(), h); }

    /// An object that was moved to is the same strand.
    [[nodiscard]] void* identity() const noexcept { return handle_.identity(); }
    /// execute() by identity: what environments use, so that the object may be moved while they name it.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept {
        detail::strand_handle::execute_on(identity, h);
    }

private:
    detail::strand_handle handle_;
};

}  // namespace coflux
