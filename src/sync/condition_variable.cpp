#include <coflux/sync/condition_variable.hpp>

#include <utility>

namespace coflux {

using detail::adaptive_guard;
using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::wait_operation;

std::coroutine_handle<> condition_variable::wait_awaiter::await_suspend(std::coroutine_handle<>) {
    mutex& m = mutex_;
    wait_operation* next_owner = nullptr;
    const auto give_up_the_lock = [&]() noexcept {
        mutex* const others = of_.mutex_.load(memory_order_relaxed);  // under the lock, or of a waiter
        COFLUX_VERIFY(others == nullptr || others == &m,
                      "coroutines wait in a condition_variable with the locks of two mutexes at a time");
        // release: a notifier that finds the mutex by this finds it made. It cannot come too early: what it notifies of
        // it did under the lock, which it gets after this.
        of_.mutex_.store(&m, memory_order_release);
        guard_.of_ = nullptr;
        // Under the list's lock: no stop and no notification takes this wait before that is done.
        if (m.is_awaited()) {
            next_owner = &m.next_owner();
        } else {
            m.state_.store(mutex::unlocked, memory_order_release);  // pairs with the acquire in mutex::enter()
        }
        return false;
    };
    const std::coroutine_handle<> to = detail::wait_in(m.waiters_.lock, of_.waiters_, *this, give_up_the_lock);
    // From here on all of this may be gone.
    if (next_owner != nullptr) next_owner->wake();
    return to;
}

/// Under the list's lock: takes `w` out; false if it is not there.
bool condition_variable::remove(wait_operation& w) noexcept {
    if (!waiters_.remove(w)) return false;
    if (waiters_.empty()) mutex_.store(nullptr, memory_order_relaxed);  // publishes nothing
    return true;
}

bool condition_variable::wait_awaiter::claim(wait_operation& w) noexcept {
    auto& self = static_cast<wait_awaiter&>(w);
    const adaptive_guard guard(self.mutex_.waiters_.lock);
    if (self.queued_in_ == queue_kind::condition) return self.of_.remove(w);
    if (w.previous == nullptr) return false;  // it has the lock
    if (self.queued_in_ == queue_kind::mutex_by_notify_one) self.of_.pass_on(self.mutex_);
    return self.mutex_.withdraw(w);
}

/// Under the list's lock, for a waiter that is in the queue of `m` on account of a notify_one(), and is to be
/// stopped: passes its notification to the next waiter, at the end of the queue. The stopped waiter has marked the
/// mutex, and the mark remains.
void condition_variable::pass_on(mutex& m) noexcept {
    wait_operation* const next = waiters_.front();
    if (next == nullptr) return;
    (void)remove(*next);
    static_cast<wait_awaiter*>(next)->queued_in_ = wait_awaiter::queue_kind::mutex_by_notify_one;
    m.waiters_.queue.push_back(*next);
}

void condition_variable::notify(bool all) noexcept {
    mutex* const m = mutex_.load(memory_order_acquire);  // pairs with the store in await_suspend()
    if (m == nullptr) return;
    wait_operation* owner = nullptr;  // at most one gets the lock at once
    {
        const adaptive_guard guard(m->waiters_.lock);
        if (mutex_.load(memory_order_relaxed) != m) return;  // a stop, or another notifier, took the last one
        while (wait_operation* const w = waiters_.front()) {
            (void)remove(*w);
            static_cast<wait_awaiter*>(w)->queued_in_ =
                all ? wait_awaiter::queue_kind::mutex : wait_awaiter::queue_kind::mutex_by_notify_one;
            if (m->ready_or_mark(mutex::want(nullptr))) {  // the guard may be that of a coroutine above
                owner = w;
            } else {
                m->waiters_.queue.push_back(*w);
            }
            if (!all) break;
        }
    }
    if (owner != nullptr) owner->wake();
}

constinit const detail::wait_kind condition_variable::wait_awaiter::kind{.claim = &claim,
                                                                         .stop = &wait_operation::stop_claimed,
                                                                         .what = "a condition variable",
                                                                         .of_at = sizeof(detail::wait_operation),
                                                                         .queued_at = wait_operation::previous_at};

}  // namespace coflux
