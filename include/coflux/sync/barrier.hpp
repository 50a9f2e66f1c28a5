// barrier: a number of coroutines meet, again and again.
#pragma once

#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux {
namespace detail {

/// The part of a barrier that does not depend on the end of a phase.
class barrier_base {
public:
    barrier_base(const barrier_base&) = delete;
    barrier_base& operator=(const barrier_base&) = delete;

    class wait_awaiter;
    using wait_request = request<wait_awaiter, barrier_base&>;

protected:
    using completion = void (*)(barrier_base&) noexcept;

    constexpr barrier_base(std::size_t expected, completion complete) noexcept
        : expected_(expected),
          pending_(expected),
          complete_(complete) {}
    ~barrier_base();

    void drop() noexcept;
    [[nodiscard]] std::size_t count() noexcept;

private:
    bool arrive_if_last() noexcept;
    bool arrive() noexcept;
    void end_phase() noexcept;

    // Guarded by the list's lock, but for the end of a phase: when pending_ is 0 all have arrived, and until they are
    // woken only the last of them touches anything.
    wait_list waiters_;
    std::size_t expected_;  // how many take part in the next phase
    std::size_t pending_;   // how many have not arrived in this one
    wait_chain released_;   // the waiters, at the end of a phase
    const completion complete_;
};

class [[nodiscard]] barrier_base::wait_awaiter : public wait_operation {
public:
    wait_awaiter(promise_base& p, barrier_base& of) noexcept : wait_operation(p, kind), of_(of) {}
    ~wait_awaiter() {
        if constexpr (COFLUX_LATE_RESULTS) end_phase_if_last();  // as is_unresumed(): the other waiters depend on it
    }
    [[nodiscard]] bool await_ready() noexcept {
        last_ = of_.arrive_if_last();
        return last_ && goes_on();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);
    void await_resume() noexcept {
        resumed();
        end_phase_if_last();
    }

private:
    static bool claim(wait_operation& w) noexcept;
    static const wait_kind kind;
    void end_phase_if_last() noexcept {
        if (!last_) return;
        last_ = false;
        of_.end_phase();
    }

    barrier_base& of_;  // first, as of_at says
    bool last_ = false;
};

/// The completion of a barrier that has none.
struct no_completion {
    void operator()() const noexcept {}
};

}  // namespace detail

/// Coroutines that work in phases meet here at the end of each: `co_await b.arrive_and_wait();` A phase ends when as
/// many as are expected have arrived; then `completion()` is called, then all go on.
///
/// Shapes: `Completion` is called without arguments by the last one to arrive, on its thread, and does not throw.
/// Threads: all members from any.
/// Costs: a lock of some instructions for each arrival; never an allocation.
/// Lifetime: outlives its waiters; the destructor checks that.
template <typename Completion = detail::no_completion>
class barrier : private detail::barrier_base {
    static_assert(std::is_nothrow_invocable_v<Completion&>, "coflux: the completion of a barrier must be noexcept");

public:
    /// Pre: `expected` is not 0.
    constexpr explicit barrier(std::size_t expected, Completion at_end = Completion())
        : barrier_base(
              expected,
              [](barrier_base& self) noexcept { static_cast<void>(static_cast<barrier&>(self).completion_()); }),
          completion_(std::move(at_end)) {}

    /// `co_await arrive_and_wait()`: arrives in this phase and goes on when all have.
    ///
    /// Resumes: on the coroutine's executor; the last to arrive does not wait.
    /// Errors: more arrivals in a phase than are expected are a checked error. std::bad_alloc in the first wait ever of
    /// a coroutine; then it has not arrived.
    /// Stops: a stop point for all but the last to arrive. A coroutine that is stopped has arrived in this phase, and
    /// is not expected in later ones, as by arrive_and_drop(): so the other coroutines go on.
    [[nodiscard("nothing arrives until this is awaited: co_await it")]] wait_request arrive_and_wait() noexcept {
        return wait_request(*this);
    }
    /// Arrives in this phase without waiting, and is not expected in later ones. If it is the last to arrive it ends
    /// the phase.
    void arrive_and_drop() noexcept { drop(); }
    /// How many take part.
    [[nodiscard]] std::size_t expected() noexcept { return count(); }

private:
    [[no_unique_address]] Completion completion_;
};

}  // namespace coflux
