// thread_pool_executor in a simulated world. Replaces the library's definition in programs that are linked with it, so
// that what uses a pool, an example for instance, runs in a simulation without being compiled anew.
#include <optional>
#include <utility>

#include <coflux/executor/thread_pool.hpp>
#include <coflux/testing/sim_executor.hpp>

#include "allocation_faults.hpp"
#include "injection.hpp"

namespace coflux {

/// A pool of the youngest simulation of the thread: one queue, whose forks other workers may steal.
class detail::thread_pool {
public:
    explicit thread_pool(thread_pool_options options) : options(std::move(options)) {}

    /// The first question makes it: an executor more is more to explore. The first to go is drawn.
    testing::sim_executor& at(priority p) {
        std::optional<testing::sim_executor>& found = p == priority::high ? high_ : low_;
        if (!found) {
            const coflux_simulations::simulation_at_work here;
            found.emplace();
        }
        return *found;
    }

    thread_pool_options options;
    testing::sim_executor executor;

private:
    std::optional<testing::sim_executor> high_;
    std::optional<testing::sim_executor> low_;
};

thread_pool_executor::thread_pool_executor(std::size_t threads)
    : thread_pool_executor(thread_pool_options{.threads = threads}) {}
thread_pool_executor::thread_pool_executor(thread_pool_options options)
    : pool_([&options] {
          const coflux_simulations::simulation_at_work here;
          return new detail::thread_pool(std::move(options));
      }()) {}
thread_pool_executor::thread_pool_executor(thread_pool_executor&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)) {}
thread_pool_executor& thread_pool_executor::operator=(thread_pool_executor&& other) noexcept {
    if (this != &other) delete std::exchange(pool_, std::exchange(other.pool_, nullptr));
    return *this;
}
thread_pool_executor::~thread_pool_executor() {
    delete pool_;
}

void thread_pool_executor::execute(std::coroutine_handle<> h) noexcept {
    execute_on(identity(), h);
}
std::size_t thread_pool_executor::size() const noexcept {
    return pool_->options.threads != 0 ? pool_->options.threads : 2;
}
std::vector<worker_counters> thread_pool_executor::counters() const {
    return std::vector<worker_counters>(size());
}
void* thread_pool_executor::identity() const noexcept {
    return pool_->executor.identity();
}
void thread_pool_executor::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    const coflux_simulations::simulation_at_work here;
    coflux_simulations::stop_injection::scheduled(h);
    testing::sim_executor::execute_on(identity, h);
}
void* thread_pool_executor::identity_at(priority p) const noexcept {
    return pool_->at(p).identity();
}
void detail::execute_by_priority(void* identity, std::coroutine_handle<> h) noexcept {
    thread_pool_executor::execute_on(identity, h);
}

}  // namespace coflux
