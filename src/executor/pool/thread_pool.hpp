// A thread pool: its queues, its workers and what they share. The page docs/design/thread_pool.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <coflux/base/asymmetric_fence.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/executor/thread_pool.hpp>

#include "executor/detail/executor_door.hpp"
#include "idle_workers.hpp"
#include "injection_queue.hpp"
#include "inspect/metric_source.hpp"
#include "os/process/process.hpp"
#include "pool_events.hpp"

namespace coflux::detail {

class pool_worker;
class thread_pool;

/// A priority of a pool: what an environment that names it posts to.
class pool_priority {
public:
    explicit pool_priority(thread_pool& of) noexcept : pool_(of) {}

    void execute(std::coroutine_handle<> h) noexcept;
    void close() noexcept { door_.close(); }
    [[nodiscard]] void* identity() const noexcept { return door_.identity(); }

    alignas(cache_line) injection_queue queue;

private:
    thread_pool& pool_;
    executor_door<pool_priority> door_{*this};
};

class thread_pool {
public:
    explicit thread_pool(thread_pool_options options);
    ~thread_pool();

    void execute(std::coroutine_handle<> h) noexcept;

    [[nodiscard]] pool_priority& at(priority p) noexcept { return p == priority::high ? high_ : low_; }

    std::size_t size() const noexcept { return workers_.size(); }
    std::vector<worker_counters> counters() const;
    /// Errors: std::bad_alloc.
    void add_metrics(metric_snapshot& to) const;
    void add_progress(progress_list& to) const;
    /// Pushes of a lone coroutine while a worker slept.
    std::uint64_t lone_pushes() const noexcept;
    /// Its identity in environments, which find it by execute_on().
    void* identity() const noexcept { return door_.identity(); }

private:
    friend class pool_priority;
    friend class pool_worker;

    /// Queues `h` on `to`, which all workers take from, for a thread from outside.
    void inject(injection_queue& to, std::coroutine_handle<> h) noexcept;
    /// Something waits that any worker may take.
    [[nodiscard]] bool has_shared() const noexcept {
        return !injected_.empty() || !high_.queue.empty() || !low_.queue.empty();
    }
    void check_none_left_behind() noexcept;

    thread_pool_options options_;
    executor_door<thread_pool> door_{*this};
    os::process_mark process_;
    const std::size_t processors_;       // that the process may use
    atomic<std::uint32_t> watching_{0};  // sleepers that look for work now and then; relaxed, pairs with nothing
    idle_workers idle_;
    pool_events events_{idle_};
    heavy_fence heavy_fence_;
    alignas(cache_line) injection_queue injected_;
    pool_priority high_{*this};
    pool_priority low_{*this};
    std::vector<std::unique_ptr<pool_worker>> workers_;
    std::vector<thread> threads_;
    metric_source metrics_;
};

}  // namespace coflux::detail
