// The seam for threads, as the model programs see it: a lock is a loop on a modelled atomic. There are no threads to
// make.
#pragma once

#include <mutex>
#include <thread>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

class mutex {
public:
    void lock() noexcept {
        while (held_.exchange(true, memory_order_acquire)) cpu_pause();
    }
    bool try_lock() noexcept { return !held_.exchange(true, memory_order_acquire); }
    void unlock() noexcept { held_.store(false, memory_order_release); }

private:
    atomic<bool> held_{false};
};

using std::lock_guard;
using std::unique_lock;

}  // namespace coflux::detail
