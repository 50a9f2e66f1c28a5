// The page docs/design/time.md has the protocol.
#include <coflux/time/timer_queue.hpp>

#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/transfer.hpp>

namespace coflux::detail {

timer_queue::~timer_queue() {
    while (posting_.load(memory_order_acquire) != 0) cpu_pause();  // pairs with the release at the end of remove()
    collect_mail();
    while (mail_ != nullptr) {
        timer& t = *std::exchange(mail_, mail_->next_mail_);
        wheel_.cancel(t);
        t.kind_->left(t);
    }
    COFLUX_VERIFY(wheel_.empty(), "an executor ends while coroutines sleep on it");
}

void timer_queue::post(timer& t) noexcept {
    timer* first = mailbox_.load(memory_order_relaxed);
    do {
        t.next_mail_ = first;
        // seq_cst: release for the owner's exchange, and before the look at asleep_ in remove().
    } while (!mailbox_.compare_exchange_weak(first, &t, memory_order_seq_cst, memory_order_relaxed));
}

void timer_queue::remove(timer& t) noexcept {
    if (this_thread.timers == this) {
        wheel_.cancel(t);
        return t.kind_->left(t);
    }
    // Once it is posted, the timer's coroutine may end, and with it all that keeps the executor alive: the destructor waits
    // for those who have entered.
    posting_.fetch_add(1, memory_order_relaxed);
    post(t);
    // One of those who see it asleep wakes it.
    if (asleep_.load(memory_order_seq_cst) && asleep_.exchange(false, memory_order_seq_cst)) wake_(owner_);
    posting_.fetch_sub(1, memory_order_release);  // pairs with the acquire in the destructor: our last access
}

void timer_queue::remove_lazily(timer& t) noexcept {
    if (this_thread.timers == this) {
        wheel_.cancel(t);
        return t.kind_->left(t);
    }
    post(t);
}

void timer_queue::collect_mail() noexcept {
    // acquire pairs with the release of post(): what those who took the timers did.
    timer* youngest = mailbox_.exchange(nullptr, memory_order_acquire);
    timer* oldest = nullptr;
    while (youngest != nullptr) {
        timer* const next = youngest->next_mail_;
        youngest->next_mail_ = oldest;
        oldest = youngest;
        youngest = next;
    }
    mail_ = oldest;
}

std::size_t timer_queue::hand_out_mail(std::size_t most) noexcept {
    const resumption_pause pause;
    if (mail_ == nullptr && has_mail()) collect_mail();
    std::size_t handed_out = 0;
    for (; mail_ != nullptr && handed_out < most; ++handed_out) {
        timer& t = *mail_;
        mail_ = t.next_mail_;
        wheel_.cancel(t);
        t.kind_->left(t);
    }
    return handed_out;
}

std::size_t timer_queue::hand_out_due(std::size_t most) noexcept {
    const resumption_pause pause;
    std::size_t handed_out = 0;
    while (handed_out < most) {
        auto* const t = static_cast<timer*>(wheel_.take());
        if (t == nullptr) break;
        if (!t->decide(timer::fired)) continue;  // somebody has taken it: it comes by mail
        t->kind_->due(*t);
        ++handed_out;
    }
    return handed_out;
}

std::size_t timer_queue::look(clock_tick now) noexcept {
    const resumption_pause pause;
    const std::size_t mailed = hand_out_mail(portion);
    wheel_.expire(now);
    return mailed + hand_out_due(portion - mailed);
}

}  // namespace coflux::detail
