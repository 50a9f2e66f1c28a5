// How a worker takes what other workers have queued. The page docs/design/thread_pool.md has the protocol.
#include <algorithm>

#include "pool_worker.hpp"

namespace coflux::detail {
namespace {

constexpr unsigned victims_in_a_row = 8;  // after a look at what all may take

}  // namespace

/// One look at each of the others. The queues that all take from do not wait until all have been looked at.
std::coroutine_handle<> pool_worker::steal() noexcept {
    random_ = random_ * 1664525U + 1013904223U;
    unsigned looks = 0;
    return victims_.first(position_, pool_.workers_.size(), random_, [&](std::size_t i) {
        if (looks++ % victims_in_a_row == 0) {
            if (const auto h = take_shared()) return h;
        }
        return steal_from(*pool_.workers_[i]);
    });
}

/// Forks that the victim shares are free. Thieves ask for the rest, and wait as long as a fence would hold up both.
void* pool_worker::steal_fork_from(pool_worker& victim) noexcept {
    if (void* const shared = victim.forks_.steal_shared()) {
        stolen_at_ = tick_now();
        steal_backoff_.stole(steal_backoff::by::owner);
        return shared;
    }
    if (pool_.heavy_fence_ == nullptr) {
        lost_a_race_ = victim.forks_.size() != 0;
        return nullptr;
    }
    if (victim.forks_.ask_to_share()) {
        victim.asked_at_.store(tick_now(), memory_order_relaxed);  // pairs with nothing: any time will do
        return nullptr;
    }
    if (victim.forks_.size() == 0) return nullptr;
    const clock_tick before = tick_now();
    if (before - victim.asked_at_.load(memory_order_relaxed) < steal_backoff_.patience()) return nullptr;
    void* const taken = victim.forks_.steal();
    stolen_at_ = tick_now();
    lost_a_race_ = taken == nullptr;
    if (taken != nullptr) steal_backoff_.fence_took(stolen_at_ - before);
    if (taken != nullptr && victim.forks_.size() == 0) victim.forks_.share_lone();
    steal_backoff_.stole(steal_backoff::by::fence);
    return taken;
}

bool pool_worker::may_take_ready_of(const pool_worker& victim) noexcept {
    const ready_ring::glance now = victim.ready_.look();
    if (now.size == 0 || now.size > lone_ready::pair) return lone_ready_.may_be_taken(&victim, now, 0, 0);
    return lone_ready_.may_be_taken(&victim, now, tick_now(), victim.rounds_.few_steps());
}

std::coroutine_handle<> pool_worker::steal_from(pool_worker& victim) noexcept {
    void* taken = steal_fork_from(victim);
    if (taken == nullptr && may_take_ready_of(victim)) {
        taken = victim.ready_.take();
        stolen_at_ = tick_now();
    }
    if (taken == nullptr) return nullptr;
    stole_ = true;
    victim.stolen_from_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: a hint for notify_one()
    count(stolen_);
    const std::uint64_t forked = victim.forked();
    if (&victim != victim_ || forked != forked_there_) unchanged_since_ = stolen_at_;
    victim_ = &victim;
    forked_there_ = forked;
    return std::coroutine_handle<>::from_address(taken);
}

/// True once the victim of the last theft has neither pushed nor taken for as long as a few of its steps take: it
/// computes, and is slowed down by nothing that thieves do. A look takes a line from a victim that does not compute, so
/// the first change ends them.
bool pool_worker::victim_computes(clock_tick now) noexcept {
    if (victim_ == nullptr) return false;
    if (victim_->forked() != forked_there_) victim_ = nullptr;
    return victim_ != nullptr && now - unchanged_since_ >= victim_->rounds_.few_steps();
}

}  // namespace coflux::detail
