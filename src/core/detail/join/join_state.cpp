#include <coflux/core/detail/join/join_state.hpp>

namespace coflux::detail {

join_snapshot join_state::begin_callbacks() noexcept {
    // release publishes the result: pairs with has_ended(); acquire: what is in the list is visible, and suspended.
    // [join.callbacks.begin]
    return join_snapshot(word_.exchange(bits::in_callbacks, memory_order_acq_rel));
}

waiter* join_state::end_callbacks() noexcept {
    // release: what the callbacks did is visible to the awaiters: pairs with done(), await(); acquire as above.
    // [join.callbacks.end]
    return join_snapshot(word_.exchange(bits::list_bit | bits::done_bit, memory_order_acq_rel)).youngest();
}

/// A callback that comes when the coroutine has ended is its maker's to call.
join_result join_state::await_in_list(waiter& w) noexcept {
    // [join.await_in_list.looks]
    join_snapshot s(word_.load(memory_order_acquire));  // pairs with the two exchanges above
    // [join.await_in_list.ended]
    while (!(w.first ? s.has_ended() : s.done())) {
        w.next = s.youngest();
        // release: the end sees the waiter; acquire: if the coroutine has ended, its result is visible.
        // [join.await_in_list.adds]
        if (word_.compare_exchange_weak(s.word_, reinterpret_cast<std::uintptr_t>(&w) | (s.word_ & bits::tags),
                                        memory_order_acq_rel, memory_order_acquire))
            return join_result::registered;
    }
    return join_result::completed;
}

handle_end join_state::detach() noexcept {
    // [join.drop.looks]
    std::uintptr_t s = word_.load(memory_order_acquire);  // pairs with the CAS of end()
    if ((s & bits::list_bit) != 0) return handle_end::shared;
    if ((s & bits::nested_bits) == bits::direct_bit) return handle_end::untaken;
    if ((s & bits::done_bit) == 0) {
        // acq_rel: either the end sees `detached` and frees, or we see `done` and all it wrote, and free.
        // [join.drop.marks]
        s = word_.fetch_or(bits::detached_bit, memory_order_acq_rel);
        // [join.drop.runs]
        if ((s & bits::done_bit) == 0) return handle_end::runs;
    }
    return handle_end::ended;
}

void join_state::share_ended(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept {
    references.store(1 + extra, memory_order_relaxed);  // pairs with nothing: only the handle can reach the frame
    // [join.share.ended]
    word_.fetch_or(bits::list_bit, memory_order_release);  // pairs with the loads of the threads that share the handle
}

void join_state::share_running(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept {
    references.store(2 + extra, memory_order_relaxed);  // published by the fetch_or
    // acq_rel pairs with the CAS of end().
    // [join.share.runs]
    const std::uintptr_t s = word_.fetch_or(bits::list_bit, memory_order_acq_rel);
    // [join.share.counts]
    if ((s & bits::done_bit) != 0) references.fetch_sub(1, memory_order_relaxed);  // it ended without seeing the list
}

void join_state::stand_if_awaited_by(const promise_base& consumer) noexcept {
    std::uintptr_t runs_for = plain_await_of(&consumer);
    (void)word_.compare_exchange_strong(runs_for, 0, memory_order_relaxed, memory_order_relaxed);
}

}  // namespace coflux::detail
