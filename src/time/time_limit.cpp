#include <coflux/time/time_limit.hpp>

#include <new>

#include <coflux/core/transfer.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "timer_service.hpp"

namespace coflux::detail {

constinit const timer_kind time_limit::kind{&time_limit::due, &time_limit::left};

time_limit* time_limit::arm(environment& target, clock_tick deadline, const executor_entry* executor) {
    timer_queue* const own = timer_queue::of_thread_for(executor);
    timer_service* const service = own == nullptr ? &timer_service::shared() : nullptr;
    // From the frame pool: it may outlive the coroutine and its memory resource.
    auto* const limit = ::new (allocate_pooled(sizeof(time_limit), alignof(time_limit))) time_limit(target);
    if (own != nullptr) {
        limit->ready_for(*own);
        own->insert(*limit, deadline);
    } else {
        service->arm(*limit, deadline);
    }
    return limit;
}

void time_limit::free() noexcept {
    this->~time_limit();
    deallocate_pooled(this, sizeof(time_limit), alignof(time_limit));
}

/// True if the deadline will not act; then the limit is gone, or will be when its queue looks at it.
bool time_limit::forestall() noexcept {
    if (queue() == nullptr) {
        if (!timer_service::shared().take(*this)) return false;
        free();
    } else {
        if (!take()) return false;
        queue()->remove_lazily(*this);
    }
    return true;
}

time_limit::verdict time_limit::over(promise_base& awaiting) noexcept {
    if (forestall()) return verdict::in_time;
    awaiting_ = &awaiting;
    return (met_.fetch_or(ended, memory_order_acq_rel) & told) != 0 ? verdict::late : verdict::acting;
}

void time_limit::cancel() noexcept {
    if (forestall()) return;
    while ((met_.load(memory_order_acquire) & told) == 0) cpu_pause();  // pairs with the fetch_or of due()
    free();
}

void time_limit::due(timer& t) noexcept {
    auto& limit = static_cast<time_limit&>(t);
    limit.target_.request_stop();
    // Whoever sees `told` may free the limit, unless `ended` is set already: then it and the coroutine wait for us.
    if ((limit.met_.fetch_or(told, memory_order_acq_rel) & ended) == 0) return;
    promise_base& awaiting = *limit.awaiting_;
    if (awaiting.runs_on() != nullptr) return awaiting.runs_on()->post(awaiting.handle());
    run_next(awaiting.handle());
}

void time_limit::left(timer& t) noexcept {
    static_cast<time_limit&>(t).free();
}

}  // namespace coflux::detail
