// shard_group: one event loop per core, which share nothing but messages.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/executor.hpp>
#include <coflux/executor/detail/submission.hpp>
#include <coflux/executor/worker.hpp>

namespace coflux {

/// The fence that orders a message against the sleep of the shard that it goes to.
enum class message_fence {
    automatic,   ///< as the system allows: by_sleeper, else by_sender
    by_sleeper,  ///< a shard calls membarrier() before it parks, some 0.3 us and an interrupt of each thread that runs
    by_sender,   ///< each message has a locked instruction on a word that all senders share
};

/// How a shard_group is made.
struct shard_options {
    std::size_t shards = 0;             ///< how many; 0: as many as the process may use processors
    std::string name = "coflux-shard";  ///< threads are called name-0, name-1, …; the system cuts it to 15 characters
    bool pin = true;                    ///< binds shard i to the i-th processor that the process may use
    /// How long a shard keeps looking for work before it parks, at most; as thread_pool_options::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    /// How near the next deadline must be for it to keep looking; as thread_pool_options::timer_spin.
    std::chrono::nanoseconds timer_spin = std::chrono::nanoseconds(0);
    /// How long it is parked before it gives the memory of freed frames back; as thread_pool_options::keep_memory.
    std::chrono::nanoseconds keep_memory = std::chrono::seconds(1);
    message_fence fence = message_fence::automatic;  ///< by_sleeper where the system refuses it: std::system_error
};

/// One shard of a group, as an executor: a copy of it is the same one.
///
/// `make_environment(here, shards[i])` makes what is forked in it run on shard `i`: `fork<T, shard>`.
class shard {
public:
    /// Queues `h`.
    void execute(std::coroutine_handle<> h) noexcept { execute_on(identity_, h); }

    [[nodiscard]] void* identity() const noexcept { return identity_; }
    /// execute() by identity.
    static void execute_on(void* identity, std::coroutine_handle<> h) noexcept {
        worker_executor::execute_on(identity, h);
    }

private:
    friend class shard_group;
    explicit shard(void* identity) noexcept : identity_(identity) {}

    void* identity_;
};
static_assert(executor<shard>);

/// Event loops, one a thread, each bound to a core, that run their coroutines one at a time and share nothing.
///
/// Objects that are kept on one shard need no lock there. A shard asks another one by submit_to().
///
/// Shapes: owns its threads; not movable.
/// Errors: std::system_error when the system has no more threads, or refuses message_fence::by_sleeper. A coroutine
/// that still sleeps on a shard when the group ends, or is to go on upon it later, is a checked error that names it.
/// Threads: any.
/// Costs: a ring of 2 KB for each pair of shards; idle shards park and cost nothing.
/// Lifetime: outlives the environments that name its shards; not destroyed on one of its own threads.
/// Source: Seastar's smp and its queues.
class shard_group {
public:
    /// `shards` of them; 0: as many as the process may use processors, by its affinity and the quota of its control
    /// groups.
    explicit shard_group(std::size_t shards = 0);
    explicit shard_group(shard_options options);
    ~shard_group();
    shard_group(const shard_group&) = delete;
    shard_group& operator=(const shard_group&) = delete;

    /// Number of shards.
    [[nodiscard]] std::size_t size() const noexcept { return shards_.size(); }
    /// The executor of one.
    /// Errors: a number that is too large is a checked error.
    [[nodiscard]] shard& operator[](std::size_t i) noexcept;
    /// The number of the shard whose thread this is; nothing on other threads.
    [[nodiscard]] std::optional<std::size_t> here() const noexcept;

    /// `co_await submit_to(i, f)` calls `f()` on shard `i`, and gives what it gives.
    ///
    /// Shapes: `f` is a function object that is moved into the await; it is no coroutine, and may refer to what lives
    /// in the awaiting one. On shard `i` itself it is called in place.
    /// Returns: the result of `f`, moved; lvalue references as they are.
    /// Resumes: on the coroutine's own executor.
    /// Errors: what `f` throws. std::bad_alloc in the first wait ever of a coroutine; then nothing was sent. A number
    /// that is too large is a checked error.
    /// Stops: a stop point before it sends. A submission that was sent is carried out, and the coroutine goes on with
    /// the result: a timeout() around it waits for that, too. On shard `i` itself it sends nothing, and is no stop
    /// point.
    /// Threads: of any executor. From another shard it goes through a ring; two submissions from one shard to another
    /// one are carried out in the order in which they were made.
    /// Costs: no allocation; two messages, and a system call for each side that sleeps.
    template <typename F>
    [[nodiscard("nothing is submitted until this is awaited: co_await it")]] auto submit_to(std::size_t i, F&& f) {
        static_assert(std::is_invocable_v<std::decay_t<F>&>,
                      "coflux: what is submitted to a shard is called without arguments");
        return detail::submit_request<std::decay_t<F>>(set_.get(), i, std::forward<F>(f));
    }

private:
    std::unique_ptr<detail::shard_set> set_;
    std::vector<shard> shards_;
};

}  // namespace coflux
