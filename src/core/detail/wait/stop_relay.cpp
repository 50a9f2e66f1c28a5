#include <coflux/core/detail/wait/stop_relay.hpp>

#include <new>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/join/callbacks.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/wait/stop_walk.hpp"

namespace coflux::detail {

bool reaches(const promise_base& p, const environment& e) noexcept {
    // A call is never stopped alone, but with its caller.
    const environment* stopped_with = &p;
    while (environment_tree::is_call(*stopped_with)) stopped_with = environment_tree::parent(*stopped_with);
    const environment* at = &e;
    while (at != nullptr && at != stopped_with && (environment_tree::is_object(*at) || environment_tree::is_call(*at)))
        at = environment_tree::parent(*at);
    return at == stopped_with;
}

bool is_part_of(const promise_base& p, const environment* parent) noexcept {
    const environment* at = &p;
    for (std::uint32_t calls = 0; calls != longest_look && environment_tree::is_call(*at); ++calls) {
        at = environment_tree::parent(*at);
        if (at == parent) return true;
    }
    return false;
}

void request_stop_of(frame_control& c) noexcept {
    if (!c.has_ended()) promise_base::of(c).request_stop();
}

constinit const wait_kind stop_relay::kind{&stop_relay::claim, &stop_relay::pass_on, nullptr};

bool stop_relay::listen() {
    begin();
    auto s = state::idle;
    // acq_rel pairs with claim(): a request that came before this is seen here, one that comes later finds it
    // listening.
    // [stop_relay.listen]
    if (!must_stop() && state_.compare_exchange_strong(s, state::listening, memory_order_acq_rel, memory_order_relaxed))
        return true;
    withdraw();
    return false;
}

bool stop_relay::over() noexcept {
    auto s = state::listening;
    // acq_rel pairs with claim(): it comes before, or not at all.
    // [stop_relay.over.done]
    if (state_.compare_exchange_strong(s, state::done, memory_order_acq_rel, memory_order_acquire)) {
        // [stop_relay.over.withdraws]
        withdraw();
        return true;
    }
    // acq_rel pairs with pass_on(): the second of both goes on with the operation, and sees what the first did.
    // [stop_relay.over.ended]
    return s != state::requesting ||
           !state_.compare_exchange_strong(s, state::ended, memory_order_acq_rel, memory_order_acquire);
}

bool stop_relay::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<stop_relay&>(waiting);
    auto s = state::idle;
    // acq_rel pairs with listen(), which then fails, and with over().
    // [stop_relay.claim.early]
    if (self.state_.compare_exchange_strong(s, state::early, memory_order_acq_rel, memory_order_relaxed)) return false;
    // [stop_relay.claim.requesting]
    return s == state::listening &&
           self.state_.compare_exchange_strong(s, state::requesting, memory_order_acq_rel, memory_order_relaxed);
}

bool stop_relay::request_next(void* self) noexcept {
    auto& of = *static_cast<stop_relay*>(self);
    of.calls_->request(of.operation_, of.next_);
    return ++of.next_ != of.count_;
}

void stop_relay::pass_on(wait_operation& claimed) noexcept {
    auto& self = static_cast<stop_relay&>(claimed);
    // The handles are the operation's until the coroutine runs again, which it does not before this is over.
    // [stop_relay.pass_on.steps]
    if (!request_in_step(&self, &request_next)) return stop_again(self);
    const stop_calls& calls = *self.calls_;
    void* const operation = self.operation_;
    auto s = state::requesting;
    // acq_rel pairs with over(). If it comes first the relay may be gone.
    // [stop_relay.pass_on.passed]
    if (self.state_.compare_exchange_strong(s, state::passed, memory_order_acq_rel, memory_order_acquire)) return;
    calls.go_on(operation);
}

void stop_relay::request_early() noexcept {
    coroutine().open_for_waits();  // a child of it may do the rest
    // relaxed: no other thread knows this object.
    // [stop_relay.early.requesting]
    state_.store(state::requesting, memory_order_relaxed);
    stop_in_steps(*this);
}

namespace {

/// A plain await that passes a stop on: in the join word of what is awaited, and gone when that has ended.
struct relayed_await final : waiter, stop_relay {
    relayed_await(promise_base& p, frame_control& c) noexcept : stop_relay(p, this, calls, 1, how_it_stops), child(&c) {
        waiter::coroutine = &p;
        ended = &child_ended;
    }
    static void leave(relayed_await* w) noexcept {
        w->~relayed_await();
        deallocate_pooled(w, sizeof(relayed_await), alignof(relayed_await));
    }
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept {
        auto* const w = static_cast<relayed_await*>(&self);
        if (w->listens && !w->over()) return no_coroutine();
        promise_base& p = *w->waiter::coroutine;
        leave(w);
        return promise_base::wake(p, c.word.end(), here);
    }
    static void request_stop(void* self, std::size_t) noexcept {
        request_stop_of(*static_cast<relayed_await*>(self)->child);
    }
    static void go_on(void* self) noexcept {
        auto* const w = static_cast<relayed_await*>(self);
        promise_base& p = *w->waiter::coroutine;
        if (w->child->word.ended_stopped() && !p.control().word.has(frame_flags::takes_stop)) p.begin_unwind();
        const bool queued = p.runs_on() != nullptr;
        w->wake();
        if (queued) leave(w);
    }
    static void taken(wait_operation& woken) noexcept { leave(static_cast<relayed_await*>(&woken)); }
    static constexpr stop_calls calls{&request_stop, &go_on};
    static constexpr wait_kind how_it_stops{&claim, &pass_on, nullptr, &taken};

    frame_control* child;
    bool listens = false;
};

}  // namespace

std::coroutine_handle<> await_relayed(promise_base& p, frame_control& child) {
    p.check_not_self(child);
    const bool stop_requested = p.begin_suspend() == suspension::stop;
    void* const block = allocate_pooled(sizeof(relayed_await), alignof(relayed_await));
    auto* const w = ::new (block) relayed_await(p, child);
    try {
        w->listens = !stop_requested && w->listen();
    } catch (...) {
        relayed_await::leave(w);
        throw;
    }
    // [stop_relay.await.requests]
    if (!w->listens) request_stop_of(child);
    if (p.await_elsewhere(child, *w) == join_result::registered) return no_coroutine();
    const std::coroutine_handle<> next = relayed_await::child_ended(*w, child, identity_of(p.runs_on()));
    return transfer(next);
}

std::coroutine_handle<> await_aside(promise_base& p, frame_control& child) {
    if (!child.done() && !is_stopped_with(p, child)) return await_relayed(p, child);
    if (child.join.is_shared()) return await_in_list(p, child);
    return p.await_child(child);
}

void relay_if_needed::begin(promise_base& p, bool stop_requested, void* operation, const stop_calls& calls,
                            std::size_t count) noexcept {
    const bool many = count > longest_stop_step;
    try {
        if (many || !stop_requested) {
            void* const block = allocate_pooled(sizeof(stop_relay), alignof(stop_relay));
            relay_ = ::new (block) stop_relay(p, operation, calls, count);
            if (!stop_requested && relay_->listen()) return;
            if (many) return relay_->request_early();
            free();
        }
    } catch (const std::bad_alloc&) {
        if (has_relay()) free();
        if (!stop_requested) relay_ = no_memory();
    }
    for (std::size_t i = 0; i != count; ++i) calls.request(operation, i);
}

void relay_if_needed::free() noexcept {
    stop_relay* const relay = std::exchange(relay_, nullptr);
    relay->~stop_relay();
    deallocate_pooled(relay, sizeof(stop_relay), alignof(stop_relay));
}

void relay_if_needed::throw_failure() {
    throw std::bad_alloc();
}

}  // namespace coflux::detail
