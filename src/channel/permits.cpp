#include <coflux/channel/detail/permits.hpp>

#include <array>

#include <coflux/core/promise_base.hpp>
#include <coflux/core/transfer.hpp>

namespace coflux::detail {

bool permits::released(std::uint64_t w) noexcept {
    if ((w & closed) != 0) return (w & ~(waited | closed)) == all_;
    giving_.is_here();
    serve();
    return false;
}

bool permits::close() noexcept {
    const std::uint64_t w =
        word_.fetch_or(closed, memory_order_acq_rel);  // pairs with the other releases, as in release()
    if ((w & closed) != 0) return false;
    serve();
    return (w & ~waited) == all_;
}

void permits::serve() noexcept {
    // Woken outside the lock, some at a time: an operation may be gone as soon as it is woken.
    std::array<permit_wait*, 16> woken;
    bool more = true;
    while (more) {
        std::size_t n = 0;
        lock_.lock();
        while (!waiters_.empty() && n != woken.size()) {
            // With `waited` set only this lock takes permits. By CAS, because close() may come: a permit that is given
            // after it must show in its count. acquire pairs with release().
            std::uint64_t w = word_.load(memory_order_acquire);
            while ((w & closed) == 0 && w >= one &&
                   !word_.compare_exchange_weak(w, w - one, memory_order_acquire, memory_order_acquire)) {}
            const bool shut = (w & closed) != 0;
            if (!shut && w < one) break;
            auto* const first = static_cast<permit_wait*>(waiters_.pop_front());
            first->answer_ = shut ? answer::closed : answer::granted;
            woken[n++] = first;
        }
        more = n == woken.size();
        // acq_rel: keeps what release() published in the chain for the next acquire.
        if (waiters_.empty()) word_.fetch_and(~waited, memory_order_acq_rel);
        lock_.unlock();
        for (std::size_t i = 0; i != n; ++i) woken[i]->wake();
    }
}

bool permit_wait::comes_soon() noexcept {
    return from_.giving_.comes_soon([this]() noexcept {
        answer_ = from_.try_acquire();
        return answer_ != permits::answer::none;
    });
}

std::coroutine_handle<> permit_wait::wait() {
    promise_base& p = coroutine();
    if (p.suspends()) [[unlikely]]
        return p.stop_here();
    begin();
    from_.lock_.lock();
    std::uint64_t w = from_.word_.load(memory_order_relaxed);
    for (;;) {
        if ((w & permits::closed) != 0) {
            answer_ = permits::answer::closed;
            break;
        }
        if (w >= permits::one && (w & permits::waited) == 0) {
            if (!from_.word_.compare_exchange_weak(w, w - permits::one, memory_order_acquire, memory_order_relaxed))
                continue;  // acquire: as in try_acquire()
            answer_ = permits::answer::granted;
            break;
        }
        // Either a later release() sees the flag, or this sees its permit. acq_rel: as in serve().
        if ((w & permits::waited) == 0 &&
            !from_.word_.compare_exchange_weak(w, w | permits::waited, memory_order_acq_rel, memory_order_relaxed))
            continue;
        if (must_stop()) [[unlikely]] {
            // The flag may stay without anybody: there is no permit, and who gives the next clears it.
            from_.lock_.unlock();
            end();
            return p.stop_here();
        }
        waited_ = true;
        from_.waiters_.push_back(*this);
        from_.lock_.unlock();
        return suspended();
    }
    from_.lock_.unlock();
    end();
    return transfer(p.handle());
}

bool permit_wait::claim(wait_operation& op) noexcept {
    permit_wait& self = static_cast<permit_wait&>(op);
    const spin_guard guard(self.from_.lock_);
    return self.from_.waiters_.remove(op);  // the flag stays, as above
}

}  // namespace coflux::detail
