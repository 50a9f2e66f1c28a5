#include <coflux/combine/detail/concurrency_window.hpp>

#include <utility>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/wait/stop_walk.hpp"

namespace coflux::detail {

concurrency_window::concurrency_window(promise_base& loop, std::size_t size, error_policy policy)
    : loop_(loop),
      memory_(*loop.memory_resource()),
      size_(size),
      policy_(policy) {
    // Makes the record of waits, so that no later wait can fail: once a child runs there is no way back.
    ends_awaiter first(*this);
    first.begin();
    first.end();
}

concurrency_window::~concurrency_window() {
    while (window_slot* const s = slots_.pop()) {
        s->~window_slot();
        memory_.deallocate(s, sizeof(window_slot), alignof(window_slot));
    }
}

bool concurrency_window::must_end() noexcept {
    const bool decided = policy_ == error_policy::stop_on_error && ends_.load(memory_order_relaxed) != 0;
    return decided || stop_requested_ || loop_.is_stop_requested();
}

void concurrency_window::reserve() {
    if (!free_.empty()) return;
    auto* const s = ::new (memory_.allocate(sizeof(window_slot), alignof(window_slot))) window_slot;
    s->of = this;
    s->ended = &child_ended;
    slots_.push(*s);
    free_.push(*s);
}

void concurrency_window::add(frame_control& c) noexcept {
    window_slot& s = *free_.top();
    if (!c.done()) {
        (void)free_.pop();
        s.child = &c;
        ++running_;
        if (c.join.await(s) == join_result::registered) return;
        s.child = nullptr;
        free_.push(s);
        --running_;
    }
    note(c, true);
    promise_base::drop(c);
}

void concurrency_window::note(frame_control& c, bool known_to_scope) noexcept {
    const ending end = c.word.end();
    if (end == ending::value) return;
    ends_.fetch_or(end == ending::error ? failed : stopped, memory_order_relaxed);
    if (end != ending::error) return;
    if (!known_to_scope) return scope_failures::record(loop_, *c.error);
    // It is in the list of the scope that the child was made in, which may be another: a failure is in one list only.
    failure* const again = failure_like(*c.error);
    c.error->observe();
    scope_failures::record(loop_, *again);
    again->release();
}

std::coroutine_handle<> concurrency_window::child_ended(waiter& self, frame_control& c, const void*) noexcept {
    auto& slot = static_cast<window_slot&>(self);
    concurrency_window& of = *slot.of;
    of.note(c, c.join.is_shared());
    ends_awaiter* parked = nullptr;
    {
        const adaptive_guard guard(of.lock_);
        of.ended_.push(slot);
        parked = std::exchange(of.parked_, nullptr);
    }
    // Through the queue, so that more children may end before the loop goes on. Unless it is parked, `of` may be gone.
    if (parked != nullptr) parked->wake();
    return no_coroutine();
}

bool concurrency_window::collect() noexcept {
    intrusive_stack<window_slot, linked_links> ended;
    {
        const adaptive_guard guard(lock_);
        ended = std::exchange(ended_, {});
    }
    if (ended.empty()) return false;
    while (window_slot* const s = ended.pop()) {
        promise_base::drop(*std::exchange(s->child, nullptr));
        free_.push(*s);
        --running_;
    }
    return true;
}

void concurrency_window::stop_all() noexcept {
    if (std::exchange(stopping_, true)) return;
    left_to_stop_ = slots_.top();
    stop_some();
}

bool concurrency_window::stop_next(void* self) noexcept {
    auto& of = *static_cast<concurrency_window*>(self);
    const window_slot& s = *of.left_to_stop_;
    of.left_to_stop_ = s.next_slot;
    // The frame stays until it is collected, so it may end meanwhile.
    if (s.child != nullptr) request_stop_of(*s.child);
    return of.left_to_stop_ != nullptr;
}

/// A step of stop_all(); all of it, where no executor would run another coroutine meanwhile.
void concurrency_window::stop_some() noexcept {
    while (left_to_stop_ != nullptr && !request_in_step(this, &stop_next) && loop_.runs_on() == nullptr) {}
}

std::coroutine_handle<> concurrency_window::ends_awaiter::await_suspend(std::coroutine_handle<>) noexcept {
    promise_base& p = coroutine();
    if (of_.left_to_stop_ != nullptr) return let_others_run(p);
    if (p.begin_suspend() == suspension::stop && !of_.stop_requested_) {
        of_.stop_requested_ = true;
        return transfer(p.handle());
    }
    const auto enter = [this]() noexcept {
        const adaptive_guard guard(of_.lock_);
        if (!of_.ended_.empty()) return wait_attempt::ready;
        if (has_begun() && must_stop()) return wait_attempt::stop;
        of_.parked_ = this;
        return wait_attempt::waits;
    };
    // One request is enough: from then on the loop waits for its children, whatever comes. The attempt cannot fail: see
    // the constructor of the window.
    const wait_attempt went = of_.stop_requested_ ? enter() : attempt_wait(*this, enter);
    if (went == wait_attempt::waits) return suspended();
    if (went == wait_attempt::stop) of_.stop_requested_ = true;
    return transfer(p.handle());
}

bool concurrency_window::ends_awaiter::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<ends_awaiter&>(waiting);
    const adaptive_guard guard(self.of_.lock_);
    if (self.of_.parked_ != &self) return false;
    self.of_.parked_ = nullptr;
    return true;
}

void concurrency_window::ends_awaiter::stop(wait_operation& claimed) noexcept {
    auto& self = static_cast<ends_awaiter&>(claimed);
    self.of_.stop_requested_ = true;
    self.wake();
}

}  // namespace coflux::detail
