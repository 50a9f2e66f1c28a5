// The threads that serve an executor, for a reader that takes no lock: it finds the coroutines that run.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// The thread_state of each; nullptr: a place that is free. A thread that finds none is not in it.
inline constexpr std::size_t most_registered_threads = 1024;
extern constinit atomic<const thread_state*> registered_threads[most_registered_threads];
/// The number in the system of the thread at the same place; 0: none yet, or no more.
extern constinit atomic<std::uint64_t> registered_numbers[most_registered_threads];

/// While it lives, the thread that has made it is registered.
class registered_thread {
public:
    /// `number`: as the system knows the thread.
    explicit registered_thread(std::uint64_t number) noexcept;
    ~registered_thread();
    registered_thread(const registered_thread&) = delete;
    registered_thread& operator=(const registered_thread&) = delete;

private:
    std::size_t place_ = most_registered_threads;
};

}  // namespace coflux::detail
