// The executor of simulated coroutines.
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/core/executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux::testing {

namespace detail {
class sim_worker;
}  // namespace detail

/// An executor of a simulation: it behaves to its coroutines as a thread pool of one worker whose forks thieves may
/// take. Several may belong to one simulation; law 3 holds between them.
///
/// Threads: that of its simulation.
/// Lifetime: its simulation outlives the environments that name it; copies are the same executor.
class sim_executor {
public:
    /// The executor of the youngest simulation of this thread.
    /// Pre: there is one.
    sim_executor();
    explicit sim_executor(simulation& in);

    /// Takes handles of any coroutine. Wrappers of foreign code resume in the order in which they are called, too.
    void execute(std::coroutine_handle<> h) noexcept;
    [[nodiscard]] void* identity() const noexcept { return queue_; }
    /// Environments call it, with coroutines of Coflux.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept;

private:
    detail::sim_worker* queue_;
};
static_assert(executor<sim_executor>);

}  // namespace coflux::testing
