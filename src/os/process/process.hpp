// Whether this still is the process that something was made in, or a child of it that fork() made without its threads.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// How many calls of fork() lie between the first process and this one, since the first process_mark was made. Written
/// in children alone, before they have a second thread.
inline constinit atomic<std::uint32_t> forks_of_process{0};

/// The process that the object was made in.
class process_mark {
public:
    process_mark() noexcept;
    /// False in a child: the threads that were there are not.
    [[nodiscard]] bool is_here() const noexcept {
        return forks_ == forks_of_process.load(memory_order_relaxed);  // pairs with nothing: see there
    }

private:
    std::uint32_t forks_;
};

}  // namespace coflux::detail::os
