#include <coflux/time/detail/time_limit.hpp>

#include <new>

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux::detail {

constinit const timer_kind time_limit::how_it_ends{&time_limit::come_due, &time_limit::whose, "waits with a limit"};

time_limit* time_limit::arm(environment& target, clock_tick deadline, const executor_entry* executor) {
    // From the frame pool: it may outlive the coroutine and its memory resource.
    auto* const limit = ::new (allocate_pooled(sizeof(time_limit), alignof(time_limit))) time_limit(target);
    (void)limit->choose_queue(executor);
    try {
        limit->prepare();
    } catch (...) {
        limit->free();
        throw;
    }
    limit->timer::arm(deadline, true);
    return limit;
}

void time_limit::free() noexcept {
    this->~time_limit();
    deallocate_pooled(this, sizeof(time_limit), alignof(time_limit));
}

/// True if the deadline will not act; then the limit is gone.
bool time_limit::try_disarm() noexcept {
    if (!disarm()) return false;
    free();
    return true;
}

time_limit::verdict time_limit::over(promise_base& awaiting) noexcept {
    if (try_disarm()) return verdict::in_time;
    awaiting_ = &awaiting;
    return (met_.fetch_or(ended, memory_order_acq_rel) & requested) != 0 ? verdict::late : verdict::acting;
}

void time_limit::cancel() noexcept {
    if (try_disarm()) return;
    while ((met_.load(memory_order_acquire) & requested) == 0) cpu_pause();  // pairs with the fetch_or of come_due()
    free();
}

const environment& time_limit::whose(const timer& t) noexcept {
    return static_cast<const time_limit&>(t).target_;
}

void time_limit::come_due(timer& t) noexcept {
    auto& limit = static_cast<time_limit&>(t);
    limit.target_.request_stop();
    // A thread that sees `requested` may free the limit, unless `ended` is set already: then it and the coroutine wait
    // for us.
    if ((limit.met_.fetch_or(requested, memory_order_acq_rel) & ended) == 0) return;
    promise_base& awaiting = *limit.awaiting_;
    if (awaiting.runs_on() != nullptr) return awaiting.runs_on()->post(awaiting.handle());
    run_next(awaiting.handle());
}

}  // namespace coflux::detail
