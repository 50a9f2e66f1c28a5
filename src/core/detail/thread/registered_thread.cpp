#include "core/detail/thread/registered_thread.hpp"

namespace coflux::detail {

constinit atomic<const thread_state*> registered_threads[most_registered_threads] = {};

// relaxed throughout: a reader looks at each state by a system call, as at all else, and trusts nothing that it says.

registered_thread::registered_thread() noexcept {
    for (atomic<const thread_state*>& place : registered_threads) {
        const thread_state* none = nullptr;
        if (place.load(memory_order_relaxed) != nullptr) continue;
        if (!place.compare_exchange_strong(none, &this_thread, memory_order_relaxed)) continue;
        place_ = &place;
        return;
    }
}

registered_thread::~registered_thread() {
    if (place_ != nullptr) place_->store(nullptr, memory_order_relaxed);
}

}  // namespace coflux::detail
