#include <coflux/sync/barrier.hpp>

#include <coflux/base/assert.hpp>

namespace coflux::detail {

barrier_base::~barrier_base() {
    COFLUX_VERIFY(waiters_.queue.empty(), "a barrier was destroyed while coroutines wait in it");
}

std::size_t barrier_base::count() noexcept {
    const adaptive_guard guard(waiters_.lock);
    return expected_;
}

/// Under the list's lock: arrives. True for the last of the phase, which must call end_phase() without the lock.
bool barrier_base::arrive() noexcept {
    COFLUX_VERIFY(pending_ != 0, "more have arrived in a barrier than it expects");
    if (--pending_ != 0) return false;
    released_.add_all(waiters_.queue);
    return true;
}

bool barrier_base::arrive_if_last() noexcept {
    const adaptive_guard guard(waiters_.lock);
    return pending_ == 1 && arrive();
}

/// By the last to arrive. The waiters are in no queue any more, so that no stop reaches them, and no other arrival is
/// expected.
void barrier_base::end_phase() noexcept {
    complete_(*this);
    const wait_chain all = std::exchange(released_, wait_chain());
    {
        const adaptive_guard guard(waiters_.lock);
        pending_ = expected_;
    }
    all.wake();
}

void barrier_base::drop() noexcept {
    bool last = false;
    {
        const adaptive_guard guard(waiters_.lock);
        --expected_;
        last = arrive();
    }
    if (last) end_phase();
}

std::coroutine_handle<> barrier_base::wait_awaiter::await_suspend(std::coroutine_handle<>) {
    promise_base& p = coroutine();
    if (last_) {
        end_phase_if_last();  // the other waiters do not wait for its turn
        return let_others_run(p);
    }
    if (p.begin_suspend() == detail::suspension::stop) [[unlikely]] {
        of_.drop();
        return p.stop_here();
    }
    switch (try_to_queue(of_.waiters_.lock, of_.waiters_.queue, *this, [this]() noexcept {
        last_ = of_.arrive();
        return last_;
    })) {
    case wait_attempt::ready: return transfer(p.handle());
    case wait_attempt::stop: of_.drop(); return p.stop_here();
    case wait_attempt::waits: break;
    }
    return suspended();
}

/// It has arrived, and that stays; in later phases it is not expected.
bool barrier_base::wait_awaiter::claim(wait_operation& w) noexcept {
    barrier_base& of = static_cast<wait_awaiter&>(w).of_;
    const adaptive_guard guard(of.waiters_.lock);
    if (!of.waiters_.queue.remove(w)) return false;
    --of.expected_;
    return true;
}

constinit const wait_kind barrier_base::wait_awaiter::kind{.claim = &claim,
                                                           .stop = &wait_operation::stop_claimed,
                                                           .what = "a barrier",
                                                           .of_at = sizeof(wait_operation),
                                                           .queued_at = wait_operation::previous_at};

}  // namespace coflux::detail
