#include "core/detail/thread/registered_thread.hpp"

namespace coflux::detail {

constinit atomic<const thread_state*> registered_threads[most_registered_threads] = {};
constinit atomic<std::uint64_t> registered_numbers[most_registered_threads] = {};

// A state may be gone: a reader looks at it by a system call, as at all else, and trusts nothing that it says. A number
// comes after its state, and goes before it. So a reader that finds the same number before and after the state, all
// with acquire, has the state of that thread: one that took the place later has seen the number go, and says so by its
// exchange.

registered_thread::registered_thread(std::uint64_t number) noexcept {
    for (std::size_t i = 0; i < most_registered_threads; ++i) {
        const thread_state* none = nullptr;
        if (registered_threads[i].load(memory_order_relaxed) != nullptr) continue;
        // acquire pairs with the end of the thread that had the place.
        if (!registered_threads[i].compare_exchange_strong(none, &this_thread, memory_order_acq_rel)) continue;
        place_ = i;
        registered_numbers[i].store(number, memory_order_release);
        return;
    }
}

registered_thread::~registered_thread() {
    if (place_ == most_registered_threads) return;
    registered_numbers[place_].store(0, memory_order_relaxed);
    registered_threads[place_].store(nullptr, memory_order_release);
}

}  // namespace coflux::detail
