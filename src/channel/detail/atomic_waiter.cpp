#include <coflux/channel/detail/atomic_waiter.hpp>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

namespace coflux::detail {

std::coroutine_handle<> atomic_waiter::wait_in(atomic<std::uintptr_t>& word, std::uintptr_t idle,
                                               std::uintptr_t waiting) {
    if (progress_ == wait_progress::let_others_run) [[unlikely]]
        return let_others_run(coroutine());
    use_word(word, idle, waiting);
    return wait_by(*this, [this]() noexcept { return enter(); });
}

wait_attempt atomic_waiter::enter() noexcept {
    // Read before the wait: after it they may be gone.
    atomic<std::uintptr_t>& word = *word_;
    const std::uintptr_t idle = idle_;
    const std::uintptr_t waiting = waiting_;
    progress_ = wait_progress::waited;
    for (;;) {
        // A request that does not show here yet finds the operation, which begin() has published, and comes to claim().
        if (must_stop()) [[unlikely]] {
            progress_ = wait_progress::none;
            return wait_attempt::stop;
        }
        std::uintptr_t seen = idle;
        // release pairs with the acquire of the thread that changes the word: it finds a complete operation. acquire,
        // on failure, pairs with the release of the thread that changed it: what was sent, or the stop request, is
        // visible.
        // [spsc.waits]
        if (word.compare_exchange_strong(seen, waiting, memory_order_acq_rel, memory_order_acquire))
            return wait_attempt::waits;
        if (seen != (idle | marked)) {
            progress_ = wait_progress::none;
            return wait_attempt::ready;
        }
        // relaxed: no thread reads anything from the mark's removal; if it fails, the next round sees the change.
        (void)word.compare_exchange_strong(seen, idle, memory_order_relaxed);
    }
}

bool atomic_waiter::claim(wait_operation& op) noexcept {
    atomic_waiter& self = static_cast<atomic_waiter&>(op);
    atomic<std::uintptr_t>& word = *self.word_;
    std::uintptr_t seen = self.waiting_;
    // A claim resumes the coroutine, which was suspended by a release CAS: acquire. release, for the mark, pairs with
    // the acquire of the CAS in enter(): the waiter that sees the mark sees the request.
    while (!word.compare_exchange_strong(seen, self.idle_, memory_order_acq_rel, memory_order_acquire)) {
        if (seen != self.idle_) return false;  // changed, or marked before
        if (word.compare_exchange_strong(seen, self.idle_ | marked, memory_order_release, memory_order_relaxed))
            return false;
        if (seen != self.waiting_) return false;
    }
    return true;
}

}  // namespace coflux::detail
