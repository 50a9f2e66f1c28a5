#include <coflux/sync/shared_mutex.hpp>

namespace coflux {

using detail::memory_order_acquire;
using detail::memory_order_relaxed;
using detail::memory_order_release;
using detail::spin_guard;
using detail::wait_operation;

/// Under the room's lock: true if it is in, else the lock is `wanted`.
bool shared_mutex::enter_or_want(bool shared) noexcept {
    std::uint64_t s = state_.load(memory_order_relaxed);
    for (;;) {
        if ((s & wanted) != 0) return false;
        const bool goes_in = shared ? (s & writer) == 0 : s == 0;
        const std::uint64_t inside = s + (shared ? one_reader : writer);
        // acquire pairs with the release of those who left. The mark publishes nothing: who finds it takes the room's lock.
        if (state_.compare_exchange_weak(s, goes_in ? inside : s | wanted, memory_order_acquire, memory_order_relaxed))
            return goes_in;
    }
}

/// Under the room's lock, while somebody waits or did until a stop took him: `left` leaves, and whoever can come in does.
void shared_mutex::let_in(std::uint64_t left, detail::wait_chain& served) noexcept {
    // acquire and release, because a plain store ends what earlier releases began: this one passes on what they published.
    std::uint64_t inside = (state_.load(memory_order_acquire) & ~wanted) - left;
    while (wait_operation* const first = room_.waiters.front()) {
        const bool shared = static_cast<wait_node*>(first)->shared_;
        if (shared ? (inside & writer) != 0 : inside != 0) break;
        inside += shared ? one_reader : writer;
        served.add(*room_.waiters.pop_front());
    }
    state_.store(inside | (room_.waiters.empty() ? 0 : wanted), memory_order_release);
}

void shared_mutex::leave_slowly(std::uint64_t what) noexcept {
    do {
        detail::wait_chain served;
        room_.lock.lock();
        if (!room_.waiters.empty()) {
            let_in(what, served);
            room_.lock.unlock();  // the last touch: those in the queue have come no further than into lock()
            return served.wake();
        }
        room_.lock.unlock();
        // A stop took the last one who waited. The CAS is the last touch: whoever is let in by it may destroy the mutex.
    } while (!try_leave(what));
}

std::coroutine_handle<> shared_mutex::wait_node::suspend(bool& waits) {
    return detail::wait_in(of_.room_, *this, waits, [this] { return of_.enter_or_want(shared_); });
}

bool shared_mutex::wait_node::claim(wait_operation& w) noexcept {
    shared_mutex& of = static_cast<wait_node&>(w).of_;
    const spin_guard guard(of.room_.lock);
    if (!of.room_.waiters.remove(w)) return false;
    // The last one leaves no mark behind; the others may be able to come in, but not here.
    if (of.room_.waiters.empty()) {
        detail::wait_chain nobody;
        of.let_in(0, nobody);
    }
    return true;
}

/// The one who is stopped may have been the writer that kept readers out.
void shared_mutex::wait_node::stop(wait_operation& w) noexcept {
    shared_mutex& of = static_cast<wait_node&>(w).of_;
    detail::wait_chain served;
    {
        const spin_guard guard(of.room_.lock);
        if (!of.room_.waiters.empty()) of.let_in(0, served);
    }
    served.wake();
    wait_operation::stop_claimed(w);
}

constinit const detail::wait_kind shared_mutex::wait_node::kind{&claim, &stop, "a shared_mutex"};

}  // namespace coflux
